"""Whether two recorded working directories mean the same workspace, as people understand it.

Blocking and read-only. Compared is what a directory is, not how it is spelled: symbolic links,
letter case where the file system folds it, trailing slashes and dots, the main checkout behind a
git worktree, and roots that were renamed since. A directory that no longer exists is compared by
what is left of its path; that is no error. Source: issue "every DSH log there is", affinity;
field notes 15 and 16.
"""

import ntpath
import os
import re
import time
from collections.abc import Mapping
from typing import Final

Identity = tuple[object, ...]
"""Equal for directories of the same workspace; means nothing beyond that."""

_FRESH_SECONDS: Final = 1.0
"""How long what was found out about a directory is believed."""

_MAX_GIT_BYTES: Final = 4096
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")


class Workspaces:
    """Remembers for a moment what recorded directories are."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], Identity] = {}
        self._since = time.monotonic()

    def identity(self, cwd: str, renamed: Mapping[str, str]) -> Identity:
        """What a recorded directory is; `renamed` maps former roots to those of today."""
        now = time.monotonic()
        if now - self._since > _FRESH_SECONDS:
            self._known, self._since = {}, now
        key = cwd, tuple(sorted(renamed.items()))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _identity(_renamed(cwd, renamed))
        return found


def _renamed(cwd: str, renamed: Mapping[str, str]) -> str:
    """The directory with the longest renamed root in it replaced, once."""
    path = os.path.normpath(cwd)
    for old in sorted(renamed, key=len, reverse=True):
        root = os.path.normpath(old)
        if path == root:
            return renamed[old]
        if path.startswith(os.path.join(root, "")):
            return os.path.join(renamed[old], path[len(os.path.join(root, "")) :])
    return cwd


def _identity(path: str) -> Identity:
    if os.name != "nt" and _DRIVE.match(path):  # recorded on another system
        return "windows", ntpath.normcase(ntpath.normpath(path))
    if not os.path.isabs(path):
        return "relative", os.path.normpath(path)
    try:
        return _of_place(_main_checkout(os.path.realpath(path)))
    except (OSError, ValueError):  # a NUL or a lone surrogate in the path: no place can have it
        return "spelled", path


def _of_place(path: str) -> Identity:
    """The nearest folder above that exists, and what is missing below it."""
    missing: list[str] = []
    while True:
        try:
            there = os.stat(path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            parent, name = os.path.split(path)
            if parent == path:
                return "missing", *missing
            missing.insert(0, name)
            path = parent
            continue
        if missing and _folds_case(path):
            missing = [name.casefold() for name in missing]
        return there.st_dev, there.st_ino, *missing


def _folds_case(folder: str) -> bool:
    parent, name = os.path.split(folder)
    if name.swapcase() == name:
        return os.name == "nt"
    try:
        return os.path.samefile(folder, os.path.join(parent, name.swapcase()))
    except OSError:
        return False


def _main_checkout(path: str) -> str:
    """The same folder in the main checkout, if the path lies in a linked git worktree."""
    top = path
    while True:
        pointer = os.path.join(top, ".git")
        if os.path.lexists(pointer):
            main = _main_of(pointer)
            return path if main is None else os.path.join(main, path[len(top) :].lstrip(os.sep))
        parent = os.path.dirname(top)
        if parent == top:
            return path
        top = parent


def _main_of(pointer: str) -> str | None:
    """The main checkout that the `.git` file of a worktree leads to; None for any other `.git`."""
    if not os.path.isfile(pointer):
        return None
    first = _first_line(pointer)
    if not first.startswith("gitdir:"):
        return None
    private = os.path.join(os.path.dirname(pointer), first.removeprefix("gitdir:").strip())
    shared = _first_line(os.path.join(private, "commondir"))
    if not shared:
        return None  # a submodule, which is a workspace of its own
    common = os.path.realpath(os.path.join(private, shared))
    return os.path.dirname(common) if os.path.basename(common) == ".git" else None


def _first_line(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(descriptor, _MAX_GIT_BYTES)).split("\n", 1)[0].rstrip("\r")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
