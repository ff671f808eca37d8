"""One run: how much is measured and how often, over which corpora, in which folder."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.corpus import KB, MB, Corpus, Session, Shape, corpus
from benchmarks.measure import Effort, Sidecar


class Scale(NamedTuple):
    """How much is measured, and how often."""

    sessions: int
    large: tuple[int, ...]
    """Sizes of sessions that are there besides."""
    counts: tuple[int, ...]
    """Numbers of short sessions between which costs are compared."""
    sizes: tuple[int, ...]
    """Sizes of logs between which costs are compared."""
    held: tuple[int, ...]
    """Those of them that are held against a bound."""
    framed: int
    """Size of the log that has one event a frame."""
    pause: float
    """In seconds."""
    requests: int
    few: Effort
    many: Effort


FULL: Final = Scale(
    sessions=997,
    large=(20 * MB, 50 * MB, 100 * MB),
    counts=(100, 300, 1_000, 3_000, 10_000),
    sizes=(1 * MB, 3 * MB, 10 * MB, 30 * MB, 100 * MB),
    held=(30 * MB, 100 * MB),
    framed=30 * MB,
    pause=3.0,
    requests=20_000,
    few=Effort(5, 30.0),
    many=Effort(25, 10.0),
)
QUICK: Final = Scale(
    sessions=50,
    large=(5 * MB,),
    counts=(100, 500),
    sizes=(300 * KB, 1 * MB, 3 * MB),
    held=(3 * MB,),
    framed=1 * MB,
    pause=1.0,
    requests=3_000,
    few=Effort(3, 3.0),
    many=Effort(7, 1.5),
)


class Bench:
    """The corpora of a run, made when they are first asked for, and its folder for all else."""

    def __init__(self, scale: Scale, folder: Path, cache: Path) -> None:
        self.scale = scale
        self._folder = folder
        self._cache = cache
        self._warm: dict[Path, Path] = {}
        self._used: dict[Path, str] = {}

    def typical(self) -> Corpus:
        """Sessions as people have them."""
        return self._made(Shape(sessions=self.scale.sessions, large=self.scale.large))

    def short(self, sessions: int) -> Corpus:
        """Very short sessions."""
        return self._made(Shape(sessions=sessions, median=4 * KB, spread=0.8))

    def sized(self) -> Corpus:
        """One session of each size."""
        return self._made(Shape(large=self.scale.sizes))

    def framed(self) -> Corpus:
        """One session that was written with one event a frame."""
        return self._made(Shape(large=(self.scale.framed,), writing="event"))

    def fresh(self) -> Path:
        """A folder with nothing in it."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def alone(self, made: Corpus, session: Session) -> Corpus:
        """A root with a copy of one session."""
        return made.alone(session, self.fresh())

    def warm(self, made: Corpus, query: str) -> Path:
        """The cache folder of a process that had all it needs to answer the query completely."""
        if made.root not in self._warm:
            folder = self.fresh()
            with Sidecar(made.root, folder) as sidecar:
                sidecar.wait_for_index(query)
            self._warm[made.root] = folder
        return self._warm[made.root]

    def used(self) -> Iterator[str]:
        """The corpora of this run, for those who read its table."""
        return iter(self._used.values())

    def _made(self, shape: Shape) -> Corpus:
        made = corpus(shape, self._cache)
        sessions, frames = len(made.sessions), sum(each.frames for each in made.sessions)
        self._used[made.root] = (
            f"{sessions} sessions of {made.size / MB:.0f} MB, a frame of "
            f"{made.size / frames:.0f} bytes (seed {shape.seed})"
        )
        return made
