"""Names in a DSH session root: which folder a session lives in, and which files are logs.

Pure functions on names. This module opens nothing and knows no event. Source of the rules:
the log format, section 1; names are compared as UTF-16, as the defining system does.
"""

import re
from typing import Final

import msgspec

NO_CWD: Final = "_no-cwd"
MAX_SLUG_UNITS: Final = 251

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_SEPARATORS: Final = re.compile(r"[/\\:]+")
_ESCAPE: Final = re.compile(r"~([0-9A-F]{4})")
_LOG_NAME: Final = re.compile(r"session(?:\.v([1-9][0-9]{0,8}))?\.jsonl(\.zstd)?", re.ASCII)


Key = tuple[str, str]
"""A session folder: the name of its project's folder, and its own."""


class LogName(msgspec.Struct, frozen=True, gc=False):
    """What the name of a log file says."""

    generation: int
    compressed: bool

    @property
    def text(self) -> str:
        """The canonical file name."""
        infix = f".v{self.generation}" if self.generation else ""
        suffix = ".zstd" if self.compressed else ""
        return f"session{infix}.jsonl{suffix}"


def parse_log_name(name: str) -> LogName | None:
    """The generation and encoding of a canonical log name; None for any other file."""
    match = _LOG_NAME.fullmatch(name)
    if match is None:
        return None
    return LogName(int(match[1] or 0), match[2] is not None)


def encode_segment(raw: str) -> str:
    """One path component for an id: injective, ASCII, safe on every file system but for length.

    Raises `ValueError` for the empty string, which has no folder.
    """
    if not raw:
        raise ValueError("an empty name has no folder")
    if raw in {".", ".."}:
        return raw.replace(".", "~002E")
    return _UNSAFE.sub(_escaped, raw)


def decode_segment(segment: str) -> str | None:
    """The id whose folder this is, or None where no id spells this name."""
    units = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), segment)
    raw = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return raw if raw and encode_segment(raw) == segment else None


def project_key(cwd: str | None) -> str:
    """The folder of all sessions of one working directory. Lossy: several may share one.

    Raises `ValueError` for the empty string, which has no folder.
    """
    if cwd is None:
        return NO_CWD
    if not cwd:
        raise ValueError("an empty working directory has no folder")
    slug = _SEPARATORS.sub("-", cwd).lstrip("-") or "root"
    return f"--{_UNSAFE.sub(_escaped, slug)[:MAX_SLUG_UNITS]}--"


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"~{code:04X}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"~{0xD800 + high:04X}~{0xDC00 + low:04X}"
