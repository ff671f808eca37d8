"""Generation 3: the system prompt is an event on the surface."""

from typing import Final

from sessionref.sessions.generations.v2 import V2

V3: Final = V2.followed_by(
    surface_types=("system/message",),
    system_first=True,
    log_types=(
        "deliverables/presented",
        "image/offload",
        "subagent/catalog",
        "tool/ptc-dispatch",
        "tool/ptc-dispatch-start",
    ),
)
