"""What a snapshot quotes of a session: a surface in, the conversation out.

Pure. Knows nothing of logs, budgets or the wire: which event is whose voice was decided when the
surface was folded. Source of the rule: the contract, section 3.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from sessionref.sessions.model import Node, Voice

Role = Literal["user", "assistant"]

_ROLES: Final[dict[Voice, Role]] = {
    Voice.PERSON: "user",
    Voice.CHECKPOINT: "user",
    Voice.ASSISTANT: "assistant",
}


class Item(msgspec.Struct, frozen=True):
    """One message of the projected conversation."""

    role: Role
    text: str
    """Never empty as projected; fitting into a budget may empty it."""
    checkpoint: bool = False
    """A compaction wrote it in place of what it summarises."""


def project(nodes: Sequence[Node]) -> tuple[Item, ...]:
    """The conversation of a surface, in surface order. Nodes without text are dropped."""
    return tuple(
        Item(_ROLES[node.voice], node.text, node.voice is Voice.CHECKPOINT)
        for node in nodes
        if node.voice in _ROLES and node.text
    )
