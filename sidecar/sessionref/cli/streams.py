"""The standard streams of a command at a shell: always there, and quiet once nobody reads on.

Only bytes and descriptors; what is written, and for whom, is not known here. A host's pipes are
`stdio`'s concern.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from .exits import Exit


def claim() -> None:
    """Put the null device in the place of each stream that was closed when the process began.

    To be called before anything is opened, which would otherwise take the place of that stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stays open


def read(limit: int) -> bytes | None:
    """All of stdin, or None where that is more than `limit` bytes."""
    data = sys.stdin.buffer.read(limit + 1)
    return data if len(data) <= limit else None


def write(data: bytes, stream: TextIO) -> None:
    """All of it, at once. That the reader has gone (`| head`) is no error.

    Where it can't be written for another reason, a full disk say, the process ends (1).
    """
    with _settled(stream):
        stream.buffer.write(data)
        stream.flush()


def flush() -> None:
    """Write what others left to be written, as `write` does."""
    for stream in (sys.stdout, sys.stderr):
        with _settled(stream):
            stream.flush()


@contextmanager
def _settled(stream: TextIO) -> Iterator[None]:
    """Whatever keeps bytes from being written is dealt with; what is left then goes nowhere."""
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            write(f"sessionref: can't write: {error.strerror}\n".encode(), sys.stderr)
            raise SystemExit(Exit.FAILED) from None
