"""A message and its context as one text, for people and tools that have no messages to put them in.

Pure. Below an expanded context nothing is the message any more: what stands there is other
sessions' text, so a mention in it is nobody's.
"""

from .prestep import Placement
from .snapshot import PREAMBLE

_FIRST_LINE = PREAMBLE.partition("\n")[0]


def message_of(source: str) -> str:
    """The part of a text that a person wrote: all that precedes an expanded context."""
    at = source.find(_FIRST_LINE)
    while at >= 0:
        lines = source[at : at + 2 * len(PREAMBLE)].replace("\r\n", "\n")
        if lines.startswith(PREAMBLE):
            return source[:at]
        at = source.find(_FIRST_LINE, at + 1)
    return source


def line_end_of(source: str) -> str:
    """What ends a line in a text, also in what is put beside it."""
    return "\r\n" if "\r\n" in source else "\n"


def expanded(message: str, context: str, placement: Placement, line_end: str) -> str:
    """Both texts with an empty line between them; of the message no character is changed."""
    lines = context.replace("\n", line_end)
    if placement == "before":
        return lines + 2 * line_end + message
    ends = 2 if message.endswith(2 * line_end) else int(message.endswith(line_end))
    return message + (2 - ends) * line_end + lines + line_end
