"""A file of our own in the user's cache folder, and the folder: 0700, and nobody else's.

Nothing that somebody else put there is used, in place of the file or of those that SQLite keeps
beside it. What makes a file our own is `ownfile`'s concern. This module knows not what is in the
file. Source: issue "instant at ten thousand sessions", 1.
"""

import errno
import os
import stat
from contextlib import suppress
from typing import Final

from sessionref.ownfile import OTHERS, check_own, check_owner, check_way, open_own

_SHARED: Final = stat.S_ISVTX
"""Marks folders that are for everybody, as `/tmp` is."""

COMPANIONS: Final = ("-wal", "-shm", "-journal")


def private_file(folder: str, name: str) -> str:
    """The path of a file in a folder, both made if need be, and made private. Raises OSError."""
    _make_private(folder)
    path = os.path.join(folder, name)
    _check_companions(path)
    descriptor = open_own(path, os.O_RDWR)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
    finally:
        os.close(descriptor)
    return path


def _make_private(folder: str) -> None:
    check_way(folder)
    os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.ENOTDIR, "its folder is a link, or no folder", folder) from None
        check_owner(found, folder)
        if os.name != "nt" and found.st_mode & OTHERS:
            if found.st_mode & _SHARED:
                raise OSError(errno.EPERM, "its folder is everybody's", folder) from None
            os.chmod(folder, 0o700)


def _check_companions(path: str) -> None:
    """Files beside it that SQLite opens by their names; the folder may have been open to others."""
    for suffix in COMPANIONS:
        with suppress(FileNotFoundError):
            check_own(os.lstat(path + suffix), path + suffix)
