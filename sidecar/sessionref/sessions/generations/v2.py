"""Generation 2: one event per row; the stream of a message is embedded in the message."""

from typing import Final

from sessionref.sessions.generations.v1 import V1

V2: Final = V1.followed_by(
    packed_rows=False,
    empty_citations=False,
    log_types=("assistant/attempt",),
)
