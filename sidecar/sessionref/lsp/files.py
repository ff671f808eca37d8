"""The files of a workspace folder, for a menu that has both files and sessions.

Read-only; `.gitignore` is respected through pathspec. Bounded: a folder of very many
files is looked at in the order of breadth until the bound is reached. Knows no sessions. Source:
issue "`@` completion in every editor", 6.
"""

import heapq
import os
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from lsprotocol import types as lsp
from pathspec import GitIgnoreSpec

from sessionref.sessions.stop import Stop
from sessionref_protocol.display import printable

from .menu import Menu

MAX_FILES: Final = 20
"""How many files a menu shows."""
_MAX_VISITED: Final = 20_000
_MAX_IGNORE_BYTES: Final = 1 << 20


class Found(msgspec.Struct, frozen=True):
    """A file or folder, by its path below the workspace's."""

    path: str
    """With slashes; a folder's ends with one."""
    key: str
    """What is compared with a query."""

    @property
    def is_folder(self) -> bool:
        """Whether there may be more below it."""
        return self.path.endswith("/")


def find_files(files: Sequence[Found], query: str) -> list[Found]:
    """What the query may mean, best first: paths and names that begin with it, then those that
    hold it. Letter case makes no difference, and what is named already is not offered again.
    """
    wanted = query.removeprefix('"').lower()
    found = [each for each in files if wanted in each.key and each.key != wanted]
    return heapq.nsmallest(MAX_FILES, found, key=lambda each: _rank(each.key, wanted))


def _rank(path: str, wanted: str) -> tuple[bool, bool, int, str]:
    name = path.rstrip("/").rpartition("/")[2]
    return not path.startswith(wanted), not name.startswith(wanted), path.count("/"), path


def list_files(root: str, stop: Stop) -> list[Found]:
    """Everything below a folder that is not ignored, what is near first. Blocks."""
    return list(_walk(root, stop))


def _walk(root: str, stop: Stop) -> Iterator[Found]:
    pending: list[tuple[str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [("", ())]
    visited = 0
    for folder, outer in pending:
        stop.check()
        ignored = outer + _ignore_file(root, folder)
        for entry in _entries(os.path.join(root, folder)):
            visited += 1
            is_folder = entry.is_dir(follow_symlinks=False)
            path = folder + entry.name + ("/" if is_folder else "")
            if entry.name == ".git" or _is_ignored(path, ignored):
                continue
            yield Found(path, path.lower())
            if is_folder:
                pending.append((path, ignored))
        if visited > _MAX_VISITED:
            return


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # it may not be read, or is gone: the others are no worse for it


def _ignore_file(root: str, folder: str) -> tuple[tuple[str, GitIgnoreSpec], ...]:
    try:
        with open(os.path.join(root, folder, ".gitignore"), "rb") as file:
            lines = file.read(_MAX_IGNORE_BYTES).decode(errors="replace").splitlines()
        return ((folder, GitIgnoreSpec.from_lines(lines)),)
    except (OSError, ValueError):
        return ()


def _is_ignored(path: str, specs: tuple[tuple[str, GitIgnoreSpec], ...]) -> bool:
    """The innermost file that says something of the path decides."""
    for folder, spec in reversed(specs):
        verdict = spec.check_file(path[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False


def file_item(found: Found, menu: Menu) -> lsp.CompletionItem:
    """A file; picking a folder keeps the menu open, where the editor told how."""
    quoted = any(character.isspace() for character in found.path)
    closing = "" if found.is_folder else '"'
    text = f'@"{found.path}{closing}' if quoted else f"@{found.path}"
    label = printable(found.path)
    is_shown_as_folder = found.is_folder and menu.folders
    again = menu.retrigger if found.is_folder else None
    return lsp.CompletionItem(
        label=label,
        kind=lsp.CompletionItemKind.Folder if is_shown_as_folder else lsp.CompletionItemKind.File,
        filter_text=f"{menu.typed} {label}",
        insert_text_format=lsp.InsertTextFormat.PlainText,
        text_edit=lsp.TextEdit(menu.replaced, text),
        command=None if again is None else lsp.Command("Complete", again),
        data={"path": found.path, "uri": menu.uri},
    )
