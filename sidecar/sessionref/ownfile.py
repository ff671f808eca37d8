"""A file that is ours alone: nobody else can read it, nor has put another one in its place.

It is 0600 and the user's own, has one name, and no symbolic link of somebody else leads to it; a
link in its own place is never followed. Nothing here ever waits. Where the system has no such modes
and owners (Windows), the folder of the user's profile protects it. This module knows not what is in
the file. Source: the issues "instant at ten thousand sessions", 1, and "nothing leaked", 5.
"""

import errno
import os
import stat
from typing import Final

OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO

_FLAGS: Final = (
    os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO that nobody reads is an error, not a reason to wait
)


def open_own(path: str, flags: int) -> int:
    """A descriptor of the file, which is made if need be, and made private. Raises OSError.

    A FIFO is taken if somebody reads it, and a device as it is.
    """
    check_way(path)
    descriptor = os.open(path, flags | _FLAGS, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISCHR(found.st_mode):
            if stat.S_ISFIFO(found.st_mode):
                check_owner(found, path)
            else:
                check_own(found, path)
            if os.name != "nt" and found.st_mode & OTHERS:
                os.fchmod(descriptor, 0o600)
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_way(path: str) -> None:
    """Raises OSError where the path is a symbolic link, or leads through somebody else's."""
    if os.path.islink(path):  # for systems without O_NOFOLLOW
        raise OSError(errno.ELOOP, "it is a symbolic link", path)
    folder = os.path.dirname(os.path.abspath(path))
    while folder != os.path.dirname(folder):
        if os.path.islink(folder) and not _is_trusted(os.lstat(folder)):
            raise OSError(errno.ELOOP, "somebody else's symbolic link leads to it", path)
        folder = os.path.dirname(folder)


def check_own(found: os.stat_result, path: str) -> None:
    """Raises OSError where this is no regular file, or not the user's alone."""
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", path)
    check_owner(found, path)
    if found.st_nlink > 1:
        raise OSError(errno.EMLINK, "it has another name elsewhere", path)


def check_owner(found: os.stat_result, path: str) -> None:
    """Raises OSError where this belongs to somebody else."""
    if os.name != "nt" and found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to somebody else", path)


def _is_trusted(found: os.stat_result) -> bool:
    """Whether it is the user's or the system's."""
    return os.name == "nt" or found.st_uid in (0, os.geteuid())
