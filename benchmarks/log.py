"""One generated session log: turns of streamed answers and tool calls, in frames as written live.

Rows have the shapes of format v0. Three quarters of the bytes are stream deltas and tool results,
the rest is what a snapshot is made of and what surrounds it. Two ways to write are known:

- "live": runs of deltas are packed, and a frame is flushed at about 700 logical bytes;
- "event": one event a frame, nothing packed, which is the worst that a writer can do.

Frames are what the field's writer makes (Node's zstd: level 3, checksum, no content size).
"""

from collections.abc import Iterator
from random import Random
from typing import Final, Literal

import zstandard

from benchmarks.words import Words, quoted

Writing = Literal["live", "event"]

_FRAME_BYTES: Final = 600
"""A batch is flushed before it outgrows this; larger rows have a frame of their own."""

_COMPRESSOR: Final = zstandard.ZstdCompressor(
    level=3, write_checksum=True, write_content_size=False
)
_MODEL: Final = '{"kind":"model","provider":"deepseek-official","model":"deepseek-v4-flash"}'
_PROMPT_LINES: Final = 30
_CHECKPOINT_BYTES: Final = 400_000
"""How much conversation and tool output a session with compactions lets pile up."""


def header(session_id: str, cwd: str | None, created_at: int, *, subagent: bool) -> bytes:
    """The first line of a log."""
    where = "" if cwd is None else f'"cwd":{quoted(cwd)},'
    origin = '"delegationDepth":1,"origin":"subagent"' if subagent else '"delegationDepth":0'
    return (
        f'{{"type":"session","version":0,"id":{quoted(session_id)},"createdAt":{created_at},'
        f"{where}{origin}}}\n"
    ).encode()


def frames(head: bytes, rows: Iterator[str], writing: Writing) -> Iterator[tuple[bytes, int]]:
    """Each frame with its logical size: the header's, then one for each batch of rows."""
    most = _FRAME_BYTES if writing == "live" else 0
    yield frame(head), len(head)
    batch: list[bytes] = []
    size = 0
    for row in rows:
        line = row.encode()
        if batch and size + len(line) > most:
            yield frame(b"".join(batch)), size
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    yield frame(b"".join(batch)), size


def frame(content: bytes) -> bytes:
    """One frame, as a live writer makes it."""
    stream = _COMPRESSOR.compressobj()
    return stream.compress(content) + stream.flush()


class Talk:
    """The rows of one session, one after another; `seq` and `size` say how far it is."""

    def __init__(
        self,
        random: Random,
        words: Words,
        start: int,
        *,
        packed: bool = True,
        compacts: bool = False,
        seq: int = 0,
    ) -> None:
        """`start`: time of the first event, in milliseconds since the epoch; `seq`: its seq."""
        self.seq = seq
        self._random = random
        self._words = words
        self._time = start
        self._packed = packed
        self._compacts = compacts
        self._turn = 0
        self._step = 0
        self._surface: list[int] = []
        self._surface_bytes = 0

    def rows(self, size: int) -> Iterator[str]:
        """Whole turns, until about `size` bytes (UTF-8) are written."""
        written = 0
        while written < size:
            for row in self._whole_turn(size - written):
                yield row
                written += len(row) if row.isascii() else len(row.encode())

    def brief_turn(self) -> Iterator[str]:
        """A question that nobody answers."""
        self._turn += 1
        yield self._row("turn/start", f'{{"turn":{self._turn}}}')
        yield self._question(20)
        yield self._row("turn/end", f'{{"turn":{self._turn},"reason":{{"kind":"completed"}}}}')

    # Turns and steps

    def _whole_turn(self, left: int) -> Iterator[str]:
        random, budget = self._random, left
        self._turn += 1
        self._step = 0
        yield self._row("turn/start", f'{{"turn":{self._turn}}}')
        yield self._question(self._count(500, left // 60))
        if self._turn == 1 and left > 10_000:
            yield self._row("request/header", self._prompt())
        for _ in range(random.randint(1, 12)):
            for row in self._whole_step(budget):
                yield row
                budget -= len(row)
            if budget < 0:
                break
        yield self._row("turn/end", f'{{"turn":{self._turn},"reason":{{"kind":"completed"}}}}')
        if self._turn == 1 or random.random() < 0.05:
            yield self._row(
                "session/title",
                f'{{"title":{random.choice(self._words.titles)},"messageSeqs":[1],'
                '"source":{"kind":"fallback"}}',
            )
        if self._compacts and self._surface_bytes > _CHECKPOINT_BYTES:
            yield from self._compaction()

    def _question(self, tokens: int) -> str:
        return self._surface_row(
            "user/message",
            f'{{"content":[{{"type":"text","text":"{self._prose(tokens)}"}}],'
            f'"source":{{"kind":"user"}},"role":"user","id":"{self._id()}"}}',
        )

    def _whole_step(self, left: int) -> Iterator[str]:
        self._step += 1
        at = f'"turn":{self._turn},"step":{self._step}'
        call = f"call_{self.seq}"
        yield self._row("step/start", f"{{{at}}}")
        reasoning, text = self._count(120, left // 60), self._count(220, left // 60)
        said = [self._span(reasoning), self._span(text)]
        arguments = quoted(f'{{"command":"rg {self._turn} -n","cwd":"src/{self.seq}"}}')
        blocks = [
            f'{{"type":"reasoning","text":"{self._escaped(said[0])}"}}',
            f'{{"type":"text","text":"{self._escaped(said[1])}"}}',
            f'{{"type":"tool-call","id":"{call}","name":"bash","arguments":{arguments}}}',
        ]
        yield from self._streamed(at, 0, "reasoning", said[0], blocks[0])
        yield from self._streamed(at, 1, "text", said[1], blocks[1])
        yield self._chunk(at, '{"type":"finish","reason":{"kind":"tool-calls"}}')
        yield self._surface_row(
            "assistant/message",
            f'{{{at},"message":{{"role":"assistant","content":[{",".join(blocks)}],'
            f'"source":{_MODEL},"id":"{self._id()}"}}}}',
        )
        yield self._row(
            "tool/call", f'{{{at},"callId":"{call}","name":"bash","arguments":{arguments}}}'
        )
        yield self._surface_row(
            "tool/result",
            f'{{{at},"message":{{"source":{{"kind":"tool","callId":"{call}"}},"content":'
            f'[{{"type":"tool-result","toolCallId":"{call}","content":[{{"type":"text","text":'
            f'"{self._output(self._count(40, left // 200))}"}}],"isError":false}}],"role":"user",'
            f'"id":"{self._id()}"}}}}',
            f'"sourceEventSeqs":[{self.seq - 1}],',
        )
        yield self._row("step/end", f"{{{at}}}")

    def _compaction(self) -> Iterator[str]:
        """Everything that the model saw so far becomes one checkpoint."""
        first, last = self._surface[0], self._surface[-1]
        named = f'"compactionId":"compaction-{self.seq}"'
        start = self.seq
        yield self._row("compaction/start", f'{{{named},"turn":null}}')
        seqs = ",".join(map(str, self._surface))
        summary = f'{{"type":"text","text":"{self._prose(300)}"}}'
        yield self._row(
            "compaction/summary",
            f'{{{named},"summary":[{summary}],"shadowedRange":{{"start":{first},"end":{last}}},'
            f'"shadowedSeqs":[{seqs}],"shadowedTokenCount":1}}',
        )
        yield (
            f'{{"type":"user/message","seq":{self.seq},"time":{self._now()},"data":{{"content":'
            f'[{summary}],"source":{{"kind":"plugin","plugin":"compact",{named}}},"role":"user",'
            f'"id":"{self._id()}"}},"sourceEventSeqs":[{start},{start + 1},{seqs}],'
            f'"surfaceOp":{{"op":"replace","start":{first},"end":{last}}}}}\n'
        )
        self._surface, self._surface_bytes = [self.seq], 0
        self.seq += 1
        yield self._row("compaction/end", f'{{{named},"turn":null}}')

    # Streams

    def _streamed(
        self, at: str, index: int, kind: str, span: tuple[int, int], block: str
    ) -> Iterator[str]:
        """One block of an answer as it arrives."""
        start, end = span
        yield self._chunk(at, f'{{"type":"block-start","index":{index},"blockType":"{kind}"}}')
        while start < end:
            run = min(self._random.randint(15, 45), end - start) if self._packed else 1
            deltas = self._words.quoted_tokens[start : start + run]
            if run >= 3:
                yield self._packed_row(at, index, kind, deltas)
            else:
                for delta in deltas:
                    yield self._chunk(
                        at, f'{{"type":"{kind}-delta","index":{index},"text":{delta}}}'
                    )
            start += run
        yield self._chunk(at, f'{{"type":"block-end","index":{index},"block":{block}}}')

    def _packed_row(self, at: str, index: int, kind: str, deltas: list[str]) -> str:
        first = self._random.randrange(len(self._words.gaps) - len(deltas))
        gaps = self._words.gaps[first : first + len(deltas) - 1]
        seq, time = self.seq, self._now()
        self.seq += len(deltas)
        self._time += sum(map(int, gaps))
        return (
            f'{{"type":"{kind}-chunks","seq0":{seq},"time0":{time},"data":{{{at},'
            f'"index":{index},"dt":[{",".join(gaps)}],"texts":[{",".join(deltas)}]}}}}\n'
        )

    # Rows

    def _row(self, kind: str, body: str) -> str:
        row = f'{{"type":"{kind}","seq":{self.seq},"time":{self._now()},"data":{body}}}\n'
        self.seq += 1
        return row

    def _chunk(self, at: str, chunk: str) -> str:
        return self._row("assistant/chunk", f'{{{at},"chunk":{chunk}}}')

    def _surface_row(self, kind: str, body: str, citations: str = "") -> str:
        self._surface.append(self.seq)
        self._surface_bytes += len(body)
        row = (
            f'{{"type":"{kind}","seq":{self.seq},"time":{self._now()},"data":{body},'
            f'{citations}"surfaceOp":"append"}}\n'
        )
        self.seq += 1
        return row

    def _now(self) -> int:
        self._time += self._random.randint(1, 50)
        return self._time

    def _id(self) -> str:
        return f"{self._random.getrandbits(48):012x}-{self.seq}"

    # Text

    def _count(self, median: int, most: int) -> int:
        """How many of something: log-normal, and no more than there is room for."""
        return max(1, min(int(median * self._random.lognormvariate(0, 0.8)), most))

    def _span(self, count: int) -> tuple[int, int]:
        start = self._random.randrange(len(self._words.tokens) - count)
        return start, start + count

    def _escaped(self, span: tuple[int, int]) -> str:
        return "".join(self._words.escaped_tokens[slice(*span)])

    def _prose(self, count: int) -> str:
        return self._escaped(self._span(count))

    def _output(self, count: int) -> str:
        start = self._random.randrange(len(self._words.lines) - count)
        return "\\n".join(self._words.lines[start : start + count])

    def _prompt(self) -> str:
        return (
            '{"header":{"config":{"provider":"deepseek-official","model":"deepseek-v4-flash"},'
            f'"system":"{self._output(_PROMPT_LINES)}"}},"reason":"initial"}}'
        )
