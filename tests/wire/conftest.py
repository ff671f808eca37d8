"""Fixtures for the tests of the wire: what is asked, and a read that takes a while."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.roots import SessionRoots, SidecarAt
from support.sidecar import Sidecar


@pytest.fixture
def main_root(session_roots: SessionRoots) -> Path:
    """The root of recorded sessions."""
    return session_roots("main")


@pytest.fixture
def sidecar(main_root: Path, sidecar_at: SidecarAt) -> Sidecar:
    """A sidecar that the whole run shares; leave it as it was."""
    return sidecar_at(main_root)


@pytest.fixture
def own_sidecar(main_root: Path) -> Iterator[Sidecar]:
    """A sidecar for one test alone, on the same root."""
    with Sidecar(roots=[main_root]) as spawned:
        yield spawned


@pytest.fixture
def big_sidecar(big_root: Path) -> Iterator[Sidecar]:
    """A sidecar on the root with the big session."""
    with Sidecar(roots=[big_root]) as spawned:
        yield spawned
