"""Conversations of which every state can be told from every mixture of two of them.

Each message holds a checksum over itself and all messages before it in the same log, so whatever is
put together from two states breaks the chain. Run as a program, it writes such logs without a
pause: turn by turn, in one piece or two, sometimes cut back, replaced, or moved to their next
generation. It goes on until its stdin ends, then says what each log came to.

    python -m faults.chain ROOT SEED
"""

import hashlib
import json
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from support import logs

CWD = "/w"
ROWS_A_TURN = 3
"""A person, the agent, and a new title."""

PADDING = 200_000
"""Bytes of a turn that are no conversation, in logs that take many reads."""

MOST_TURNS = 60
MOST_CUT = 6
LAST_GENERATION = 4

GROWING = ("growing-zstd", "growing-plain")
"""Their states only ever follow each other."""

CUT = ("cut-zstd", "cut-plain", "long-zstd", "long-plain")
"""These are cut back as well, and go on another way."""


class State(NamedTuple):
    """What a log came to; of one log that is never cut, the later state is the greater one."""

    epoch: int
    through: int
    """The last seq."""


def message(epoch: int, seq: int, before: str) -> str:
    """The text of a message; `before` is the one in front of it in the same log."""
    told = f"{epoch}:{seq}:{'.' * (seq * 7 % 50)}"
    return f"{told}:{hashlib.sha256((before + told).encode()).hexdigest()}"


def title(session_id: str, epoch: int, seq: int) -> str:
    """A title that nobody can have made up of two."""
    told = f"{epoch}:{seq}"
    return f"{told}:{hashlib.sha256((session_id + told).encode()).hexdigest()}"


def check(session_id: str, texts: Sequence[str], through: int) -> State:
    """The one state that these messages are; fails if they are none."""
    seqs = [seq for seq in range(through + 1) if seq % ROWS_A_TURN != ROWS_A_TURN - 1]
    assert len(texts) == len(seqs)
    before, epoch = "", 0
    for text, seq in zip(texts, seqs, strict=True):
        now = int(text.partition(":")[0])
        assert now >= epoch
        assert text == message(now, seq, before)
        before, epoch = text, now
    if session_id.endswith("zstd") and not session_id.startswith("long"):
        assert through % ROWS_A_TURN == ROWS_A_TURN - 1  # a frame of one block is there, or not
    return State(epoch, through)


def check_title(session_id: str, text: str) -> State:
    """When this title was given; fails if it never was."""
    epoch, seq, _ = text.split(":")
    assert text == title(session_id, int(epoch), int(seq))
    return State(int(epoch), int(seq))


class Writer:
    """One log, and what was said in it so far."""

    def __init__(self, root: Path, session_id: str, random: Random) -> None:
        self._root = root
        self._id = session_id
        self._random = random
        self._zstd = session_id.endswith("zstd")
        self._padding = PADDING if session_id.startswith("long") else 0
        self._epoch = 0
        self._generation = 0
        self._turns: list[bytes] = []
        """As they lie in the file."""
        self._said: list[str] = []
        """The last message of each turn."""
        self.path = logs.write_log(root, session_id, cwd=CWD, zstd=self._zstd)
        self._append()

    @property
    def state(self) -> State:
        """What the log comes to."""
        return State(self._epoch, len(self._turns) * ROWS_A_TURN - 1)

    def step(self) -> None:
        """Do something to the log."""
        drawn = self._random.random()
        if len(self._turns) > MOST_TURNS or drawn < 0.02:
            self._replace(self.path)
        elif drawn < 0.03 and self._generation < LAST_GENERATION:
            self._generation += 1
            name = logs.log_name(zstd=self._zstd, version=self._generation)
            self.path = self.path.with_name(name)
            self._replace(self.path)
        elif drawn < 0.2 and self._id in CUT:
            self._cut()
        else:
            self._append()

    def _append(self) -> None:
        turn = self._turn()
        torn = self._random.randrange(len(turn)) if self._random.random() < 0.5 else 0
        with self.path.open("ab", buffering=0) as log:
            if torn and self._random.random() < 0.3:  # a writer that died, and one that mended it
                whole = log.tell()
                log.write(turn[:torn])
                log.truncate(whole)
                torn = 0
            log.write(turn[:torn])
            log.write(turn[torn:])

    def _turn(self) -> bytes:
        """The next turn, which from now on is part of the log."""
        before = self._said[-1] if self._said else ""
        seq = len(self._turns) * ROWS_A_TURN
        asked = message(self._epoch, seq, before)
        answered = message(self._epoch, seq + 1, asked)
        rows: list[dict[str, Any]] = [
            logs.user(asked),
            logs.assistant(answered),
            logs.title(title(self._id, self._epoch, seq + 2)),
        ]
        rows[-1]["data"]["padding"] = self._random.randbytes(self._padding // 2).hex()
        lines = [logs.line({"seq": seq + at, "time": 1, **row}) for at, row in enumerate(rows)]
        self._turns.append(logs.frame(lines) if self._zstd else b"".join(lines))
        self._said.append(answered)
        return self._turns[-1]

    def _replace(self, path: Path) -> None:
        """Put another conversation there, all at once."""
        self._epoch += 1
        self._turns, self._said = [], []
        for _ in range(self._random.randrange(1, MOST_TURNS)):
            self._turn()
        temporary = path.with_name("session.jsonl.0123456789ab.tmp")
        temporary.write_bytes(self._head() + b"".join(self._turns))
        temporary.replace(path)

    def _cut(self) -> None:
        """Take back some turns, and go on in another way."""
        keep = max(1, len(self._turns) - self._random.randrange(1, MOST_CUT))
        self._epoch += 1
        self._turns, self._said = self._turns[:keep], self._said[:keep]
        with self.path.open("r+b", buffering=0) as log:
            log.truncate(len(self._head()) + sum(map(len, self._turns)))
        self._append()

    def _head(self) -> bytes:
        head = logs.header(self._id, cwd=CWD, version=self._generation)
        return logs.encode(head, zstd=self._zstd)


def main() -> None:
    """Write until stdin ends."""
    root, random = Path(sys.argv[1]), Random(sys.argv[2])
    writers = {name: Writer(root, name, random) for name in (*GROWING, *CUT)}
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], random.random() * 0.002)[0]:
        writers[random.choice([*writers])].step()
    print(json.dumps({name: writer.state for name, writer in writers.items()}))


if __name__ == "__main__":
    main()
