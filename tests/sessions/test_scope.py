"""A scope bounds what may be known of: out of scope is as if it were not there."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from sessionref.config import EVERYTHING, Scope
from sessionref.sessions.dsh import DshStore
from sessionref.sessions.model import ReadError
from sessionref.sessions.scope import ScopedStore
from sessionref.sessions.workers import Workers
from support import logs

T = TypeVar("T")

SAME = Scope(workspaces=("same",))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "sessions"
    logs.write_log(root, "here", cwd="/here")
    logs.write_log(root, "there", cwd="/there")
    logs.write_log(root, "nowhere")
    logs.write_log(root, "put-away", cwd="/here")
    delegated = logs.header("delegated", cwd="/here", origin="subagent")
    logs.write_log(root, "delegated", cwd="/here").write_bytes(logs.encode(delegated, []))
    logs.write_log(root, "damaged", [logs.user("q"), b"{", b'{"type":"turn/end"}'], cwd="/there")
    (tmp_path / "storages").mkdir()
    archived = '{"global":{"archivedSessionIds":["put-away"]}}'
    (tmp_path / "storages" / "workspace.json").write_text(archived)
    return root


async def as_spelled(cwds: Collection[str]) -> Mapping[str, object]:
    return {cwd: cwd.rstrip("/") for cwd in cwds}


def ask(
    root: Path, scope: Scope, cwd: str | None, question: Callable[[ScopedStore], Awaitable[T]]
) -> T:
    async def run() -> T:
        store = DshStore(str(root), Workers(2, 2))
        return await question(ScopedStore(store, scope, cwd, as_spelled))

    return anyio.run(run)


def listed(root: Path, scope: Scope, cwd: str | None = None) -> set[str]:
    listing = ask(root, scope, cwd, ScopedStore.list)
    return {entry.header.id for entry in listing.entries}


ALL = {"here", "there", "nowhere", "put-away", "delegated", "damaged"}


@pytest.mark.parametrize(
    ("scope", "cwd", "ids"),
    [
        (EVERYTHING, None, ALL),
        (Scope(deny=frozenset({"here", "unknown"})), None, ALL - {"here"}),
        (Scope(archived=False), None, ALL - {"put-away"}),
        (Scope(subagents=False), None, ALL - {"delegated"}),
        (SAME, "/here/", {"here", "put-away", "delegated"}),
        (SAME, None, set()),
        (Scope(workspaces=(frozenset({"/there", "/x"}),)), "/here", {"there", "damaged"}),
        (SAME.narrowed(Scope(workspaces=(frozenset({"/there"}),))), "/here", set()),
        (
            SAME.narrowed(Scope(archived=False)).narrowed(Scope(subagents=False)),
            "/here",
            {"here"},
        ),
    ],
)
def test_a_list_and_a_read_have_the_same_bound(
    home: Path, scope: Scope, cwd: str | None, ids: set[str]
) -> None:
    assert listed(home, scope, cwd) == ids
    for session_id in ALL - {"damaged"}:
        if session_id in ids:
            reading = ask(home, scope, cwd, lambda store, key=session_id: store.read(key))
            assert reading.header.id == session_id
        else:
            assert refusal(home, scope, cwd, session_id) == refusal(home, scope, cwd, "unknown")


def refusal(root: Path, scope: Scope, cwd: str | None, session_id: str) -> tuple[str, str]:
    with pytest.raises(ReadError) as refused:
        ask(root, scope, cwd, lambda store: store.read(session_id))
    return refused.value.cause, refused.value.reason


def test_damage_out_of_scope_is_not_told(home: Path) -> None:
    assert refusal(home, EVERYTHING, None, "damaged")[0] == "corrupt"
    assert refusal(home, SAME, "/here", "damaged")[0] == "not_found"
    assert refusal(home, Scope(deny=frozenset({"damaged"})), None, "damaged")[0] == "not_found"


def test_a_session_without_a_header_is_out_of_every_scope_that_asks_for_one(home: Path) -> None:
    log = logs.write_log(home, "headless", cwd="/here", zstd=False)
    log.write_bytes(b"{\n")
    assert refusal(home, Scope(archived=False), "/here", "headless")[0] == "not_found"
    assert refusal(home, Scope(deny=frozenset({"x"})), "/here", "headless")[0] == "corrupt"


def test_narrowing_never_widens() -> None:
    strict = Scope(workspaces=("same",), archived=False, deny=frozenset({"a"}))
    assert strict.narrowed(EVERYTHING) == strict
    assert EVERYTHING.narrowed(strict) == strict
    assert strict.narrowed(strict) == strict
