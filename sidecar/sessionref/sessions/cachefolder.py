"""A file of our own in the user's cache folder that nobody else can read or put in our place.

The file is 0600 in a folder that is 0700, and no symbolic link is followed to either. Where the
system has no such modes (Windows), the folder of the user's profile protects it. This module knows
not what is in the file. Source: issue "instant at ten thousand sessions", 1.
"""

import errno
import os
import stat
from typing import Final

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SHARED: Final = stat.S_ISVTX
"""Marks folders that are for everybody, as `/tmp` is."""

_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def private_file(folder: str, name: str) -> str:
    """The path of a file in a folder, both made if need be, and made private. Raises OSError."""
    _make_private(folder)
    path = os.path.join(folder, name)
    if os.path.islink(path):  # for systems without O_NOFOLLOW
        raise OSError(errno.ELOOP, "it is a symbolic link", path)
    descriptor = os.open(path, _FLAGS, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        _check_owner(found, path)
        if os.name != "nt" and found.st_mode & _OTHERS:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    return path


def _make_private(folder: str) -> None:
    os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.ENOTDIR, "its folder is a link, or no folder", folder) from None
        _check_owner(found, folder)
        if os.name != "nt" and found.st_mode & _OTHERS:
            if found.st_mode & _SHARED:
                raise OSError(errno.EPERM, "its folder is everybody's", folder) from None
            os.chmod(folder, 0o700)


def _check_owner(found: os.stat_result, path: str) -> None:
    if os.name != "nt" and found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to somebody else", path)
