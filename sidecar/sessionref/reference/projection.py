"""What a snapshot quotes of a session: a surface in, the conversation out.

Pure. Knows nothing of logs, budgets or the wire: which event is whose voice was decided when the
surface was folded. Source of the rule: the contract, section 3.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from sessionref.sessions.model import Item, Node, Role

__all__ = ["Item", "Role", "is_larger", "project", "size_of"]

_utf8: Final = attrgetter("utf8")


def project(nodes: Sequence[Node]) -> tuple[Item, ...]:
    """The conversation of a surface, in surface order. Nodes without text are dropped."""
    return tuple([node.item for node in nodes if node.item is not None])


def size_of(items: Iterable[Item]) -> int:
    """All texts together, in UTF-8 bytes; there may be very many, so this is done in C."""
    return sum(map(len, map(_utf8, items)))


def is_larger(nodes: Iterable[Node], size: int) -> bool:
    """Whether what would be quoted has more UTF-8 bytes; no more is measured than that takes."""
    for node in nodes:
        size -= node.size
        if size < 0:
            return True
    return False
