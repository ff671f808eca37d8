"""A writer of small session logs, for tests: header and rows at the canonical place.

It has its own idea of the path rule and of the framing, so that a mistake of the program is not
repeated here. Rows are dicts (dumped as JSON), or bytes (taken as they are, without a line feed).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

Row = Mapping[str, Any] | bytes

NO_CWD = "_no-cwd"
CREATED_AT = 1_700_000_000_000

_LONG_FRAME = 8_000
_FAST = zstandard.ZstdCompressor(level=1, write_checksum=True)


def units(text: str) -> list[int]:
    """The UTF-16 code units of an ECMAScript string."""
    raw = text.encode("utf-16-be", "surrogatepass")
    return [raw[i] << 8 | raw[i + 1] for i in range(0, len(raw), 2)]


def escape(text: str) -> str:
    """`~XXXX` for every UTF-16 unit outside `[A-Za-z0-9._-]`."""
    return "".join(
        chr(unit) if re.fullmatch(r"[A-Za-z0-9._-]", chr(unit)) else f"~{unit:04X}"
        for unit in units(text)
    )


def session_folder(session_id: str) -> str:
    """The name of a session's folder. `.` and `..` would mean something else."""
    assert session_id, "the empty id has no folder"
    if session_id in (".", ".."):
        return session_id.replace(".", "~002E")
    return escape(session_id)


def project_folder(cwd: str | None) -> str:
    """The name of the folder that holds the sessions of one working directory."""
    if cwd is None:
        return NO_CWD
    assert cwd, "the empty cwd has no folder"
    slug = re.sub(r"[/\\:]+", "-", cwd).lstrip("-") or "root"
    return f"--{escape(slug)[:251]}--"


def header(
    session_id: str,
    *,
    cwd: str | None = None,
    created_at: int = CREATED_AT,
    version: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """A header of format v0 or v1; `more` adds fields or replaces them."""
    where = {} if cwd is None else {"cwd": cwd}
    return {
        "type": "session",
        "version": version,
        "id": session_id,
        "createdAt": created_at,
        **where,
        "delegationDepth": 0,
        **more,
    }


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def user(text: str, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A message of a person, or of another `source`."""
    return {
        "type": "user/message",
        "data": {
            "content": _text(text),
            "source": dict(source or {"kind": "user"}),
            "role": "user",
            "id": "m",
        },
        "surfaceOp": "append",
    }


def checkpoint(text: str) -> dict[str, Any]:
    """What a compaction leaves, without the replacement that it makes in real logs."""
    return user(text, {"kind": "plugin", "plugin": "compact"})


def assistant(text: str) -> dict[str, Any]:
    return {
        "type": "assistant/message",
        "data": {
            "turn": 1,
            "step": 1,
            "message": {
                "role": "assistant",
                "content": _text(text),
                "source": {"kind": "model", "provider": "p", "model": "m"},
                "id": "m",
            },
        },
        "surfaceOp": "append",
    }


def title(text: object) -> dict[str, Any]:
    return {
        "type": "session/title",
        "data": {"title": text, "messageSeqs": [], "source": {"kind": "fallback"}},
    }


def numbered(rows: Iterable[Row]) -> list[Row]:
    """The rows with `seq` and `time` filled in where a row is a dict without them."""
    return [
        row if isinstance(row, bytes) else {"seq": seq, "time": CREATED_AT + seq, **row}
        for seq, row in enumerate(rows)
    ]


def line(row: Row) -> bytes:
    """One line of a log, with its line feed."""
    if isinstance(row, bytes):
        return row + b"\n"
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def frame(lines: Sequence[bytes]) -> bytes:
    """One checksummed zstandard frame."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(b"".join(lines))


def encode(
    head: Row, rows: Sequence[Row] = (), *, zstd: bool = True, batch: int | None = None
) -> bytes:
    """The bytes of a log: plain lines, or a frame for the header and one per `batch` rows."""
    lines = [line(row) for row in numbered(rows)]
    if not zstd:
        return line(head) + b"".join(lines)
    size = batch or max(1, len(lines))
    batches = [lines[at : at + size] for at in range(0, len(lines), size)]
    return frame([line(head)]) + b"".join(map(frame, batches))


def log_name(*, zstd: bool = True, version: int = 0) -> str:
    """The file name of a log."""
    generation = "" if version == 0 else f".v{version}"
    return f"session{generation}.jsonl" + (".zstd" if zstd else "")


def write_long_log(
    root: Path, session_id: str, count: int, text: str, *, cwd: str | None = None, zstd: bool = True
) -> Path:
    """Write a log of `count` equal messages of a person, fast, in frames of some thousand rows."""
    path = write_log(root, session_id, cwd=cwd, zstd=zstd)
    before, after = line(numbered([user(text)])[0]).split(b'"seq":0')
    with path.open("ab") as log:
        for start in range(0, count, _LONG_FRAME):
            seqs = range(start, min(start + _LONG_FRAME, count))
            rows = b"".join(b'%b"seq":%d%b' % (before, seq, after) for seq in seqs)
            log.write(_FAST.compress(rows) if zstd else rows)
    return path


def write_log(
    root: Path,
    session_id: str,
    rows: Sequence[Row] = (),
    *,
    cwd: str | None = None,
    created_at: int = CREATED_AT,
    zstd: bool = True,
    batch: int | None = None,
) -> Path:
    """Write a v0 log where its id and cwd say; its path is the answer."""
    folder = root / project_folder(cwd) / session_folder(session_id)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / log_name(zstd=zstd)
    head = header(session_id, cwd=cwd, created_at=created_at)
    path.write_bytes(encode(head, rows, zstd=zstd, batch=batch))
    return path
