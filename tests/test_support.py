"""The tests' own tools: what the other tests take for granted."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import roots, vectors


@pytest.mark.parametrize("name", roots.NAMES)
def test_packing_an_unpacked_archive_gives_the_same_bytes(
    name: str, session_roots: Callable[[str], Path]
) -> None:
    source = Path(roots.__file__).parents[1] / "roots" / "pack.py"
    code = (
        "import runpy, sys, pathlib;"
        "pack = runpy.run_path(sys.argv[1])['pack'];"
        "sys.stdout.buffer.write(pack(pathlib.Path(sys.argv[2])))"
    )
    packed = subprocess.run(
        [sys.executable, "-c", code, str(source), str(session_roots(name))],
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    assert packed == (roots.ARCHIVES / f"{name}.tar.gz").read_bytes()


def test_the_corrupt_archive_keeps_its_links_and_its_odd_files(
    session_roots: Callable[[str], Path],
) -> None:
    corrupt = session_roots("corrupt")
    alias = corrupt / "208-symlinked-session-directory/--w--/alias"
    assert str(alias.readlink()) == "healthy"
    log = corrupt / "209-symlinked-session-file/--w--/victim/session.jsonl.zstd"
    assert log.is_symlink()
    assert log.stat().st_size == 1005
    assert (corrupt / "207-symlinked-project-directory/--linked--").is_dir()
    assert not (corrupt / "210-dangling-session-file/--w--/victim/session.jsonl.zstd").exists()
    folder = corrupt / "205-session-file-is-a-directory/--w--/dirsession/session.jsonl.zstd"
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


def test_every_vector_file_loads() -> None:
    names = sorted(path.name.split(".")[0] for path in vectors.FOLDER.glob("*.json*"))
    for name in names:
        assert "about" in vectors.load(name), name
    assert len(vectors.load("surface")["cases"]) == 141
