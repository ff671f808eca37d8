"""Foreign text in Markdown, so that it is read as text and as nothing else.

Pure. Whatever a transcript, a title or a path says, it makes no link, no image, no HTML, no heading
and no emphasis. It stands on one line, so that nothing depends on how a line begins. Source: issue
"`@` completion in every editor", 2; CommonMark 0.31 and the autolinks of GitHub's dialect, which
finds addresses in text whose escapes are resolved already: an `@` in a word stands in a code span.
"""

import re
from typing import Final

from sessionref_protocol.display import excerpt

_MARKUP: Final = re.compile(r"[\\`*_{}\[\]()#!|~$^@]|[:.](?=\S)|^[-+=]|(?<=[\dwW])\.")
_INSIDE: Final = re.compile(r"(?<=\S)(?:\\@)+(?=\S)")
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_SPACE: Final = re.compile(r"\s+")


def text(foreign: str, limit: int) -> str:
    """One line of Markdown that shows at most `limit` UTF-16 units of the text."""
    return escape(shortened(foreign, limit))


def escape(shown: str) -> str:
    """Markdown that shows this one line as it is."""
    escaped = _MARKUP.sub(r"\\\g<0>", shown)
    return _INSIDE.sub(_in_code, escaped).translate(_ENTITIES)


def _in_code(found: re.Match[str]) -> str:
    return "`" + found[0].replace("\\", "") + "`"


def shortened(foreign: str, limit: int) -> str:
    """One line of at most `limit` units, without anything that could deceive a reader's eye."""
    return excerpt(_SPACE.sub(" ", foreign[: 4 * limit]).strip(), limit)
