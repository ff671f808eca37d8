"""A text onto the clipboard of whoever sits at the terminal.

The program that the desktop has for it, else tmux, else the terminal itself, which may be at the
other end of an SSH connection (OSC 52, xterm's control sequence for it). Whether a terminal obeyed
can't be known. Knows nothing of sessions.
"""

import base64
import os
import shutil
import subprocess
from typing import Final, NamedTuple


class _Way(NamedTuple):
    """A program that takes what is to be copied on its stdin."""

    command: tuple[str, ...]
    needs: str | None = None
    """The variable of the environment without which it can't work."""
    encoding: str = "utf-8"


_WAYS: Final = (
    _Way(("wl-copy",), "WAYLAND_DISPLAY"),
    _Way(("xclip", "-selection", "clipboard"), "DISPLAY"),
    _Way(("xsel", "--clipboard", "--input"), "DISPLAY"),
    _Way(("pbcopy",)),
    _Way(("clip.exe",), encoding="utf-16-le"),
    _Way(("tmux", "load-buffer", "-w", "-"), "TMUX"),
)

_SECONDS: Final = 5
_TERMINAL: Final = "/dev/tty"


class NoClipboard(Exception):  # noqa: N818 - it is what is missing
    """Nothing here has a clipboard. The text is for people."""


def copy(text: str) -> str:
    """Put it there; by what means is the answer. Raises `NoClipboard`."""
    for way in _WAYS:
        if (way.needs is None or os.environ.get(way.needs)) and _takes(way, text):
            return way.command[0]
    payload = base64.b64encode(_bytes(text, "utf-8"))
    try:
        with open(_TERMINAL, "wb", buffering=0) as terminal:
            terminal.write(b"\x1b]52;c;%b\a" % payload)
    except OSError:
        programs = ", ".join(way.command[0] for way in _WAYS)
        raise NoClipboard(f"no clipboard: no terminal, and none of {programs} works") from None
    return "the terminal"


def _takes(way: _Way, text: str) -> bool:
    program = shutil.which(way.command[0])
    if program is None:
        return False
    try:  # what stays in the background and serves the clipboard must hold no pipe of ours
        done = subprocess.run(  # noqa: S603 - one of our own table
            [program, *way.command[1:]],
            input=_bytes(text, way.encoding),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _bytes(text: str, encoding: str) -> bytes:
    """No clipboard has lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode(encoding)
