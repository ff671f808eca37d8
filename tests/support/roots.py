"""Session roots that ship as archives, because their names can't be checked out everywhere.

`session_roots` unpacks one archive, once a run, into a folder that tests must not write to:
`session_roots("main")` is the root itself, `session_roots("corrupt")` holds a root per damage.
`sidecar_at` is a sidecar per root, spawned when first asked for and shared by the whole run.
`big_root` holds a session that takes a while to read.
"""

import contextlib
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import logs
from support.requests import BIG_ID
from support.sidecar import Sidecar

ARCHIVES = Path(__file__).parents[1] / "roots"
BIG_ROWS = 280_000
NAMES = tuple(sorted(path.name.removesuffix(".tar.gz") for path in ARCHIVES.glob("*.tar.gz")))

SessionRoots = Callable[[str], Path]
SidecarAt = Callable[[Path], Sidecar]


def unpack(name: str, into: Path) -> Path:
    """Unpack the archive `name` into the folder `into`; its own folder is the answer."""
    with tarfile.open(ARCHIVES / f"{name}.tar.gz") as archive:
        archive.extractall(into, filter="data")
    return into / name


@pytest.fixture(scope="session")
def session_roots(tmp_path_factory: pytest.TempPathFactory) -> SessionRoots:
    """Unpacked roots by name; each is unpacked when it is first asked for."""
    base = tmp_path_factory.mktemp("roots")

    def root(name: str) -> Path:
        folder = base / name
        return folder if folder.exists() else unpack(name, base)

    return root


@pytest.fixture(scope="session")
def sidecar_at() -> Iterator[SidecarAt]:
    """Sidecars by root. A test that changes the state of one needs its own."""
    with contextlib.ExitStack() as stack:
        running: dict[Path, Sidecar] = {}

        def at(root: Path) -> Sidecar:
            if root not in running:
                running[root] = stack.enter_context(Sidecar(roots=[root]))
            return running[root]

        yield at


@pytest.fixture(scope="session")
def big_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One session of 63 MB that are small on disk: reading it takes far longer than a cancel."""
    root = tmp_path_factory.mktemp("big")
    path = logs.write_long_log(root, BIG_ID, BIG_ROWS, "x" * 60, cwd="/big")
    assert path.stat().st_size < 8_000_000
    return root
