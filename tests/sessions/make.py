"""Random logs of any generation: mostly well made, with mischief now and then."""

import json
from random import Random
from typing import Any

import zstandard

from support.logs import header

TEXTS = [
    "",
    "a",
    "two words",
    "x" * 300,
    "línea\n新",
    "\U0001f600",
    "\ud800 lone",
    'q"\\',
    "\u2028",
]
JUNK = [b"", b"   ", b"7", b'"s"', b"[1]", b"{", b"{}", b'{"a":1,}', b"\xef\xbb\xbf{}", b"\x00\x00"]
ODD = [None, 5, 0.5, "x", True, [], {}, [None], {"op": "replace"}, -1, 1e300]


def text(rnd: Random) -> str:
    return rnd.choice(TEXTS)


def content(rnd: Random, *, calls: bool = False) -> list[Any]:
    blocks: list[Any] = [{"type": "text", "text": text(rnd)} for _ in range(rnd.randrange(3))]
    if calls:
        blocks += [
            {"type": "tool-call", "id": rnd.choice("cde"), "name": "n", "arguments": "{}"}
            for _ in range(rnd.randrange(3))
        ]
        blocks.append({"type": "reasoning", "text": text(rnd)})
    if rnd.random() < 0.1:
        odd = [5, "s", {"type": "text", "text": 5}, {"type": "new"}, {"type": "tool-call"}, {}]
        blocks.insert(0, rnd.choice(odd))
    return blocks


def source(rnd: Random) -> dict[str, Any]:
    return rnd.choice(
        [
            {"kind": "user"},
            {"kind": "user", "rpcId": "r"},
            {"kind": "plugin", "plugin": "compact", "compactionId": "c"},
            {"kind": "compact-checkpoint", "compactionId": "c"},
            {"kind": "plugin", "plugin": "other"},
            {"kind": "plugin", "plugin": 5},
            {"kind": "session-reference", "form": "recall"},
        ]
    )


class Writer:
    """Writes events as a defining system would, and keeps the surface to know what it may do."""

    def __init__(self, rnd: Random, generation: int) -> None:
        self.rnd = rnd
        self.generation = generation
        self.seq = 0
        self.surface: list[tuple[int, str]] = []
        self.rows: list[Any] = []

    def write(self) -> None:
        """One more event of any type."""
        rnd = self.rnd
        pick = rnd.random()
        if pick < 0.3:
            self.mark()
        elif pick < 0.4 and self.generation < 2:
            self.pack()
        elif pick < 0.5:
            self.log_only()
        else:
            self.message()

    def event(self, kind: str, data: Any, **more: Any) -> None:
        self.rows.append({"type": kind, "seq": self.seq, "time": 1, "data": data, **more})
        self.seq += 1

    def mark(self) -> None:
        kind = self.rnd.choice(["turn/start", "turn/end", "step/start", "step/end"])
        self.event(kind, {"turn": 1, "step": 1})

    def log_only(self) -> None:
        rnd = self.rnd
        kind = rnd.choice(["session/title", "todo/write", "tool/call", "future/thing", "mode/set"])
        more = {"ignorable": rnd.choice([True, False])} if kind == "future/thing" else {}
        data: Any = {"deep": [[1]], "text": text(rnd)}
        if kind == "session/title":
            data = {"title": text(rnd), "messageSeqs": [], "source": {"kind": "fallback"}}
            if rnd.random() < 0.3:
                data[rnd.choice(list(data))] = rnd.choice(ODD)
        self.event(kind, data, **more)

    def pack(self) -> None:
        rnd = self.rnd
        count = rnd.randrange(1, 5)
        data: dict[str, Any] = {
            "turn": 1,
            "step": 1,
            "index": 0,
            "dt": [rnd.randrange(-3, 9) for _ in range(count - 1)],
        }
        kind = rnd.choice(["text-chunks", "reasoning-chunks", "tool-call-chunks"])
        payload = [text(rnd) for _ in range(count)]
        if kind == "tool-call-chunks":
            data |= {"id": "c", "args": payload} | ({"name": "n"} if rnd.random() < 0.5 else {})
        else:
            data["texts"] = payload
        self.rows.append({"type": kind, "seq0": self.seq, "time0": 1, "data": data})
        self.seq += count

    def message(self) -> None:
        rnd = self.rnd
        kinds = ["user/message", "assistant/message", "tool/result"]
        kinds += ["steering/message"] if self.generation == 0 else []
        kinds += ["system/message"] if self.generation >= 3 else []
        kinds += ["developer/message"] if self.generation >= 4 else []
        kind = rnd.choice(kinds)
        more: dict[str, Any] = {"surfaceOp": "append"}
        place = len(self.surface)
        span = 0
        if self.surface and rnd.random() < 0.25:
            place, span = self.choose_span(kind)
        if span:
            removed = [seq for seq, _ in self.surface[place : place + span]]
            first, last = rnd.choice([("start", "end"), ("startSeq", "endSeq")])
            more["surfaceOp"] = {"op": "replace", first: removed[0], last: removed[-1]}
            more["sourceEventSeqs"] = self.cite(removed)
        elif self.seq and rnd.random() < 0.3:
            more["sourceEventSeqs"] = self.cite(rnd.sample(range(self.seq), min(self.seq, 2)))
        elif rnd.random() < 0.1:
            more["sourceEventSeqs"] = []
        self.surface[place : place + span] = [(self.seq, kind)]
        self.event(kind, self.data(kind), **more)

    def choose_span(self, kind: str) -> tuple[int, int]:
        rnd = self.rnd
        start = rnd.randrange(len(self.surface))
        span = rnd.randrange(1, len(self.surface) - start + 1)
        if kind == "tool/result":
            return (start, 1) if self.surface[start][1] == kind else (len(self.surface), 0)
        if start == 0 and self.surface[0][1] == "system/message":
            return (0, 1) if kind == "system/message" else (len(self.surface), 0)
        return start, span

    def cite(self, seqs: list[int]) -> list[Any]:
        rnd = self.rnd
        if rnd.random() < 0.5:
            return rnd.sample(seqs, len(seqs))
        ranges: list[list[int]] = []
        for seq in sorted(seqs):
            if ranges and ranges[-1][1] == seq - 1:
                ranges[-1][1] = seq
            else:
                ranges.append([seq, seq])
        return [first if first == last else [first, last] for first, last in ranges]

    def data(self, kind: str) -> dict[str, Any]:
        rnd = self.rnd
        bare = self.generation == 0 and rnd.random() < 0.3
        if kind in {"user/message", "steering/message"}:
            message = {"content": content(rnd), "source": source(rnd), "role": "user", "id": "m"}
            return message if kind == "user/message" or bare else {"turn": 1, "message": message}
        if kind == "assistant/message":
            written = content(rnd, calls=True)
            return {"content": written} if bare else {"message": {"content": written}}
        call = rnd.choice("cde")
        if kind == "tool/result" and bare:
            return {"callId": call, "content": []}
        return {"message": {"source": {"kind": "tool", "callId": call}, "content": content(rnd)}}


def mutate(rnd: Random, row: Any) -> Any:
    """One field somewhere in a row changed, removed or added."""
    row = json.loads(json.dumps(row))
    target = row
    while True:
        inner = [value for value in target.values() if isinstance(value, dict)]
        if not inner or rnd.random() < 0.4:
            break
        target = rnd.choice(inner)
    name = rnd.choice([*target, "surfaceOp", "sourceEventSeqs", "x"])
    if rnd.random() < 0.3:
        target.pop(name, None)
    else:
        target[name] = rnd.choice(ODD)
    return row


def spell(rnd: Random, row: Any, *, odd: bool) -> bytes:
    """The row as a line, in one of the ways that JSON allows, or in one that it does not."""
    if not odd:
        return json.dumps(row, separators=(",", ":")).encode()
    plain = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
    match rnd.randrange(8):
        case 0:
            return b" \t" + plain + b" \r"
        case 1:
            return plain.replace(b'"seq": ', b'"seq": 9, "seq": ')
        case 2:
            return plain.replace(b'"type"', b'"type": "turn/start", "type"', 1)
        case 3:
            return plain.replace(b'"seq": 1', b'"seq": 1.0e0, "z": 1', 1)
        case 4:
            return plain.replace(b"two", b"t\xffo")
        case 5:
            return plain[: rnd.randrange(len(plain) + 1)]
        case 6:
            return plain + plain
        case _:
            return json.dumps(dict(reversed(row.items()))).encode()


def make_lines(rnd: Random, generation: int, *, mischief: float) -> list[bytes]:
    """The lines of a log without their line feeds, the header first."""
    writer = Writer(rnd, generation)
    for _ in range(rnd.randrange(40)):
        writer.write()
    lines = [json.dumps(header("s", cwd="/w", version=generation)).encode()]
    for row in writer.rows:
        if rnd.random() < mischief:
            row = mutate(rnd, row)
        if rnd.random() < mischief / 3:
            lines.append(rnd.choice([*JUNK, b"null"]))
        if rnd.random() < mischief / 3:
            continue
        lines.append(spell(rnd, row, odd=rnd.random() < 2 * mischief))
    return lines


def frame(content: bytes) -> bytes:
    """One frame as the defining system writes it: checksummed, its size not declared."""
    compressor = zstandard.ZstdCompressor(write_checksum=True, write_content_size=False)
    return compressor.compress(content)


def cut(rnd: Random, content: bytes, pieces: int) -> list[bytes]:
    """`content` cut at random places, empty pieces included."""
    at = sorted(rnd.randrange(len(content) + 1) for _ in range(pieces))
    return [content[a:b] for a, b in zip([0, *at], [*at, len(content)], strict=True)]
