"""What a snapshot quotes of a session: a surface in, the conversation out.

Pure. Knows nothing of logs, budgets or the wire: which event is whose voice was decided when the
surface was folded. Source of the rule: the contract, section 3.
"""

from collections.abc import Sequence

from sessionref.sessions.model import Item, Node, Role

__all__ = ["Item", "Role", "project"]


def project(nodes: Sequence[Node]) -> tuple[Item, ...]:
    """The conversation of a surface, in surface order. Nodes without text are dropped."""
    return tuple([node.item for node in nodes if node.item is not None])
