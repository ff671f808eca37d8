"""Foreign text in Markdown, so that it is read as text and as nothing else.

Pure. Whatever a transcript, a title or a path says, it makes no link, no image, no HTML, no heading
and no emphasis. It stands on one line, so that nothing depends on how a line begins. Source: issue
"`@` completion in every editor", 2; CommonMark 0.31 and the autolinks of GitHub's dialect.
"""

import re
from typing import Final

from sessionref_protocol.display import excerpt

_MARKUP: Final = re.compile(
    r"[\\`*_{}\[\]()#!|~$^@]|:(?=\S)|(?<=\w)\.(?=\w)|^[-+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)]"
)
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_SPACE: Final = re.compile(r"\s+")


def text(foreign: str, limit: int) -> str:
    """One line of Markdown that shows at most `limit` UTF-16 units of the text."""
    return escape(shortened(foreign, limit))


def escape(shown: str) -> str:
    """Markdown that shows this one line as it is."""
    return _MARKUP.sub(r"\\\g<0>", shown).translate(_ENTITIES)


def shortened(foreign: str, limit: int) -> str:
    """One line of at most `limit` units, without anything that could deceive a reader's eye."""
    return excerpt(_SPACE.sub(" ", foreign[: 4 * limit]).strip(), limit)
