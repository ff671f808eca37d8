"""Session roots that ship as archives, because their names can't be checked out everywhere.

`session_roots` unpacks one archive, once a run, into a folder that tests must not write to:
`session_roots("main")` is the root itself, `session_roots("corrupt")` holds a root per damage.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

ARCHIVES = Path(__file__).parents[1] / "roots"
NAMES = tuple(sorted(path.name.removesuffix(".tar.gz") for path in ARCHIVES.glob("*.tar.gz")))


def unpack(name: str, into: Path) -> Path:
    """Unpack the archive `name` into the folder `into`; its own folder is the answer."""
    with tarfile.open(ARCHIVES / f"{name}.tar.gz") as archive:
        archive.extractall(into, filter="data")
    return into / name


@pytest.fixture(scope="session")
def session_roots(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacked roots by name; each is unpacked when it is first asked for."""
    base = tmp_path_factory.mktemp("roots")

    def root(name: str) -> Path:
        folder = base / name
        return folder if folder.exists() else unpack(name, base)

    return root
