"""What the editor has open, and where positions in it are.

pygls keeps the documents; a document itself is ours, since the protocol's lines end at LF, CRLF
and CR and nowhere else, and since a keystroke in a document of megabytes must not cost a pass over
it. Knows nothing of mentions. Source of the rules: the language server protocol 3.17, text
documents and positions; field notes 39 and 41.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument, Workspace

from sessionref_protocol.ecmascript import join_pairs, utf16_length

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
_LINE_END: Final = "\r\n"


def split_lines(text: str) -> list[str]:
    """The lines with their ends. The last has none; it may be empty."""
    if "\r" not in text:
        lines = [line + "\n" for line in text.split("\n")]
        lines[-1] = lines[-1][:-1]
        return lines
    end = max(text.rfind("\r"), text.rfind("\n")) + 1
    return [*_LINE.findall(text), text[end:]]


class Units:
    """Offsets in a line, to and from the units that were agreed on."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding

    def count(self, text: str) -> int:
        """How many units a text has."""
        if self.encoding == "utf-32" or text.isascii():
            return len(text)
        if self.encoding == "utf-16":
            return utf16_length(text)
        return len(text.encode("utf-8", "surrogatepass"))

    def index(self, line: str, units: int) -> int:
        """The index in `line` of the character that so many units come before.

        Beyond the end it is the end; inside a character it is where that begins.
        """
        if self.encoding == "utf-32" or line.isascii():
            return min(units, len(line))
        codec, width = ("utf-16-le", 2) if self.encoding == "utf-16" else ("utf-8", 1)
        raw = line.encode(codec, "surrogatepass")
        cut = units * width
        if cut >= len(raw):
            return len(line)
        if width == 1:
            while raw[cut] & 0xC0 == 0x80:
                cut -= 1
        elif raw[cut + 1] & 0xFC == 0xDC and cut and raw[cut - 1] & 0xFC == 0xD8:
            cut -= 2
        return len(raw[:cut].decode(codec, "surrogatepass"))


class Document(TextDocument):
    """One open document, as a list of lines that an edit changes in place."""

    def __init__(
        self,
        uri: str,
        source: str | None,
        version: int | None,
        language_id: str | None,
        units: Units,
    ) -> None:
        try:
            super().__init__(uri, "", version, language_id)
        except ValueError:  # no URI that Python reads; the editor must know what it means
            super().__init__("", "", version, language_id)
            self.uri = uri
        self.units = units
        self._lines = split_lines(join_pairs(source or ""))
        self._whole: str | None = None
        self._starts: list[int] | None = None

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends."""
        return self._lines

    @property
    def source(self) -> str:
        """The whole text."""
        if self._whole is None:
            self._whole = "".join(self._lines)
        return self._whole

    def line(self, number: int) -> str:
        """A line without its end; an empty one where there is none."""
        return self._lines[number].rstrip(_LINE_END) if number < len(self._lines) else ""

    def place(self, position: lsp.Position) -> tuple[int, int]:
        """The line, and the index in it: what lies beyond an end is that end."""
        last = len(self._lines) - 1
        if position.line > last:
            return last, len(self._lines[last])
        line = self._lines[position.line].rstrip(_LINE_END)
        return position.line, self.units.index(line, position.character)

    def offset_at_position(self, client_position: lsp.Position) -> int:
        """The index in the whole text."""
        line, index = self.place(client_position)
        return self._line_starts()[line] + index

    def position(self, offset: int) -> lsp.Position:
        """The position of an index in the whole text."""
        starts = self._line_starts()
        line = bisect_right(starts, offset) - 1
        before = self._lines[line][: offset - starts[line]].rstrip(_LINE_END)
        return lsp.Position(line, self.units.count(before))

    def range(self, start: int, end: int) -> lsp.Range:
        """The range between two indices in the whole text."""
        return lsp.Range(self.position(start), self.position(end))

    def apply_change(self, change: lsp.TextDocumentContentChangeEvent) -> None:
        """Take over an edit of the editor."""
        self._whole = self._starts = None
        if not isinstance(change, lsp.TextDocumentContentChangePartial):
            self._lines = split_lines(join_pairs(change.text))
            return
        first, start = self.place(change.range.start)
        last, end = self.place(change.range.end)
        if (last, end) < (first, start):
            last, end = first, start
        # a line more on either side: a CR and an LF may have come together, or a pair of surrogates
        low, high = max(0, first - 1), last + 2
        pieces = (
            *self._lines[low:first],
            self._lines[first][:start],
            change.text,
            self._lines[last][end:],
            *self._lines[last + 1 : high],
        )
        changed = split_lines(join_pairs("".join(pieces)))
        if high < len(self._lines):
            changed.pop()  # empty: the line that follows begins there
        self._lines[low:high] = changed

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *accumulate(map(len, self._lines[:-1]))]
        return self._starts


def path_of(uri: str | None) -> str | None:
    """The folder or file that a URI means, without a slash at its end; None where it means none."""
    try:
        path = to_fs_path(uri or "")
    except ValueError:
        return None
    return path.rstrip("/") or path if path else None


class Documents(Workspace):
    """The open documents and the workspace's folders."""

    def __init__(
        self, root_uri: str | None, folders: Sequence[lsp.WorkspaceFolder], encoding: str
    ) -> None:
        root = None if path_of(root_uri) is None else root_uri
        super().__init__(root, workspace_folders=folders, position_encoding=encoding)
        self.units = Units(encoding)

    def open_document(self, uri: str) -> Document | None:
        """The document, if the editor has opened it."""
        document = self.text_documents.get(unquote(uri))
        assert document is None or isinstance(document, Document)
        return document

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> Document:
        return Document(doc_uri, source, version, language_id, self.units)
