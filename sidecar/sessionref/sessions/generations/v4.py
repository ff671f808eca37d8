"""Generation 4: tool results are messages of their own role; developer messages appear."""

from typing import Final

from sessionref.sessions.generations.v3 import V3

V4: Final = V3.followed_by(
    surface_types=("developer/message",),
    log_types=("workspace/changes",),
)
