"""Session roots of any size in the real on-disk format, the same for the same parameters.

Made once and kept in a cache folder under a name that holds all parameters; a corpus that is there
is taken as it is, since nothing writes to it (measurements that append do so to copies). Sizes are
logical: what the logs hold, not what they take on disk.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from benchmarks.log import Talk, Writing, frame, frames, header
from benchmarks.words import words

CACHE: Final = Path(__file__).with_name(".cache")
KB: Final = 1_000
MB: Final = 1_000_000

_FORMAT: Final = 2
"""To be raised whenever the same parameters come to mean other bytes."""

_WORTH_PROCESSES: Final = 20 * MB

_FOLDERS: Final = 30
_NEWEST: Final = 1_790_000_000_000
_SUBAGENTS: Final = 0.1
_COMPACTED: Final = 0.3


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What a corpus is made from."""

    sessions: int = 0
    """How many sessions have a size from the log-normal distribution."""
    median: int = 200 * KB
    spread: float = 1.1
    """Standard deviation of the logarithm of the sizes."""
    large: tuple[int, ...] = ()
    """Sizes of further sessions, of which none is compacted."""
    writing: Writing = "live"
    seed: int = 1

    @property
    def name(self) -> str:
        """A file name that says everything."""
        large = "".join(f"+{size}" for size in self.large)
        drawn = f"{self.sessions}x{self.median}~{self.spread}"
        return f"v{_FORMAT}-{drawn}{large}-{self.writing}-s{self.seed}"


class Session(msgspec.Struct, frozen=True):
    """One generated session."""

    id: str
    cwd: str | None
    path: str
    """Of its log, relative to the root."""
    size: int
    """Logical bytes."""
    frames: int
    events: int


class Corpus(msgspec.Struct, frozen=True):
    """A root full of sessions, the large ones last."""

    root: Path
    sessions: list[Session]

    @property
    def size(self) -> int:
        """Logical bytes of all logs."""
        return sum(session.size for session in self.sessions)

    def log(self, session: Session) -> Path:
        """Where the log of a session lies."""
        return self.root / session.path

    def logs(self) -> list[Path]:
        """All logs."""
        return [self.log(session) for session in self.sessions]

    def nearest(self, size: int) -> Session:
        """The session that is closest to a size."""
        return min(self.sessions, key=lambda session: abs(session.size - size))

    def alone(self, session: Session, root: Path) -> "Corpus":
        """A root of its own with a copy of one session, which may be written to."""
        copy = root / session.path
        copy.parent.mkdir(parents=True)
        shutil.copyfile(self.log(session), copy)
        return Corpus(root, [session])


def corpus(shape: Shape, cache: Path = CACHE) -> Corpus:
    """The corpus of a shape, from the cache or made now."""
    place = cache / shape.name
    manifest = place / "sessions.json"
    if not manifest.exists():
        _make(shape, place)
    return Corpus(place / "root", msgspec.json.decode(manifest.read_bytes(), type=list[Session]))


def append_turn(corpus: Corpus, session: Session) -> Session:
    """Append one frame, a brief turn, to the log of a session, which this changes to the answer."""
    talk = Talk(Random(session.events), words(0), _NEWEST, seq=session.events)
    content = "".join(talk.brief_turn()).encode()
    with corpus.log(session).open("ab") as log:
        log.write(frame(content))
    return msgspec.structs.replace(
        session,
        size=session.size + len(content),
        frames=session.frames + 1,
        events=talk.seq,
    )


def _make(shape: Shape, place: Path) -> None:
    unfinished = place.with_name(place.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    root = unfinished / "root"
    root.mkdir(parents=True)
    sizes = _sizes(shape)
    biggest_first = sorted(range(len(sizes)), key=lambda at: -sizes[at])
    made = _spread(partial(_write, shape, root, sizes), biggest_first, sum(sizes))
    sessions = [made[at] for at in range(len(sizes))]
    (unfinished / "sessions.json").write_bytes(msgspec.json.encode(sessions))
    unfinished.rename(place)


def _sizes(shape: Shape) -> list[int]:
    random = Random(shape.seed)
    drawn = [
        int(shape.median * random.lognormvariate(0, shape.spread)) for _ in range(shape.sessions)
    ]
    return [*drawn, *shape.large]


def _spread(write: Callable[[int], Session], order: Sequence[int], size: int) -> dict[int, Session]:
    """Write sessions in several processes, where that pays."""
    if size < _WORTH_PROCESSES:
        return {at: write(at) for at in order}
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
        chunk = min(50, len(order) // 50 + 1)
        return dict(zip(order, processes.map(write, order, chunksize=chunk), strict=True))


def _write(shape: Shape, root: Path, sizes: Sequence[int], at: int) -> Session:
    random = Random(f"{shape.seed}:{at}")
    session_id = f"session-{uuid.UUID(int=random.getrandbits(128), version=4)}"
    number = random.randrange(_FOLDERS)
    cwd = None if number == 0 else f"/work/日本-{number}" if number == 1 else f"/work/app-{number}"
    created_at = _NEWEST - random.randrange(10**10)
    talk = Talk(
        random,
        words(shape.seed),
        created_at,
        packed=shape.writing == "live",
        compacts=at < shape.sessions and random.random() < _COMPACTED,
    )
    head = header(session_id, cwd, created_at, subagent=random.random() < _SUBAGENTS)
    folder = root / project_folder(cwd) / session_id
    folder.mkdir(parents=True)
    path = folder / "session.jsonl.zstd"
    logical, count = _write_frames(path, frames(head, talk.rows(sizes[at]), shape.writing))
    where = str(path.relative_to(root))
    return Session(session_id, cwd, where, logical, count, events=talk.seq)


def _write_frames(path: Path, written: Iterable[tuple[bytes, int]]) -> tuple[int, int]:
    size = count = 0
    with path.open("wb") as log:
        for frame, logical in written:
            log.write(frame)
            size += logical
            count += 1
    return size, count


def project_folder(cwd: str | None) -> str:
    """The folder of the sessions of a working directory (of the Basic Multilingual Plane)."""
    if cwd is None:
        return "_no-cwd"
    slug = re.sub(r"[/\\:]+", "-", cwd).lstrip("-")
    escaped = re.sub(r"[^A-Za-z0-9._-]", lambda found: f"~{ord(found[0]):04X}", slug)
    return f"--{escaped}--"
