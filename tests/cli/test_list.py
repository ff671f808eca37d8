"""`sessionref list`: what `listCandidates` answers for the current directory, in lines or JSON."""

import time
from pathlib import Path
from typing import Any

import pytest

from sessionref.cli.listing import age_in_words
from support import logs, shell
from support.roots import SessionRoots, SidecarAt
from support.shapes import check_shape

DAY = 86_400


def write_root(root: Path, here: Path, now: int) -> None:
    """Three sessions: of another folder, of none, and of `here`; the oldest is of `here`."""
    for session_id, title, cwd, days in (
        ("other", "Other place", "/elsewhere", 1),
        ("none", "No place", None, 3),
        ("mine", "My place", str(here), 400),
    ):
        rows = [logs.user("q"), logs.title(title)]
        logs.write_log(root, session_id, rows, cwd=cwd, created_at=(now - days * DAY) * 1000)


def test_lines_are_ranked_from_the_current_directory(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_root(root, tmp_path, int(time.time()))
    done = shell.run("list", "--root", root, home=tmp_path, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.decode().splitlines() == [
        f"My place\t{tmp_path}\t1 year ago\tmine",
        "No place\t\t3 days ago\tnone",
        "Other place\t/elsewhere\t1 day ago\tother",
    ]


def test_workspaces_are_compared_by_what_the_folders_are(tmp_path: Path) -> None:
    real, alias, root = tmp_path / "real", tmp_path / "alias", tmp_path / "root"
    real.mkdir()
    alias.symlink_to(real)
    write_root(root, alias, int(time.time()))
    code, found = shell.report("list", "--root", root, home=tmp_path, cwd=real)
    assert code == 0
    first = found["candidates"][0]
    assert (first["sessionId"], first["sameWorkspace"]) == ("mine", True)


def test_options_may_stand_before_the_command(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_root(root, tmp_path, int(time.time()))
    done = shell.run("--json", "--root", root, "list", "no", home=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(b'{"candidates":[{"sessionId":"none"')


@pytest.mark.parametrize("query", [None, "", "title", "/WORK/alpha", "no such thing"])
def test_json_is_what_a_host_gets(
    query: str | None, session_roots: SessionRoots, sidecar_at: SidecarAt, tmp_path: Path
) -> None:
    root = session_roots("main")
    words = [] if query is None else [query]
    code, found = shell.report("list", "--root", root, *words, home=tmp_path, cwd=tmp_path)
    params: dict[str, Any] = {
        "agent": {"id": "", "cwd": str(tmp_path)},
        "affinity": "resolved",
        **({} if query is None else {"query": query}),
    }
    assert code == 0
    check_shape("ListCandidatesResult", found)
    assert found == sidecar_at(root).call("listCandidates", params)
    assert (found["total"] > 0) == (query != "no such thing")


def test_a_limit_cuts_and_a_ceiling_bounds_it(session_roots: SessionRoots, tmp_path: Path) -> None:
    root = session_roots("main")
    _, whole = shell.report("list", "--root", root, home=tmp_path)
    _, two = shell.report("list", "--root", root, "--limit", "2", home=tmp_path)
    assert [len(two["candidates"]), two["total"]] == [2, whole["total"]]
    assert two["candidates"] == whole["candidates"][:2]
    flags = ("--limit", "5", "--candidate-limit", "3")
    _, three = shell.report("list", "--root", root, *flags, home=tmp_path)
    assert len(three["candidates"]) == 3


def test_what_the_usual_limit_hides_is_said(session_roots: SessionRoots, tmp_path: Path) -> None:
    root = session_roots("candidates")
    done = shell.run("list", "--root", root, home=tmp_path)
    total = shell.report("list", "--root", root, home=tmp_path)[1]["total"]
    assert done.stdout.count(b"\n") == 50 < total
    assert done.stderr.decode() == f"sessionref list: {total - 50} more; --limit N shows up to N\n"
    asked = shell.run("list", "--root", root, "--limit", "50", home=tmp_path)
    assert asked.stdout == done.stdout
    assert asked.stderr == b""


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1.5", "9007199254740992"])
def test_a_bad_limit_is_refused(limit: str, tmp_path: Path) -> None:
    done = shell.run("list", "--limit", limit, home=tmp_path)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"--limit" in done.stderr


def test_an_empty_list_is_never_silent(tmp_path: Path) -> None:
    root = tmp_path / "root"
    missing = shell.run("list", "--root", root, home=tmp_path)
    assert (missing.returncode, missing.stdout) == (0, b"")
    assert missing.stderr.decode().splitlines() == [
        f"sessionref list: {root}: there is no such folder",
        "sessionref list: there is no such session",
    ]
    root.mkdir()
    empty = shell.run("list", "--root", root, home=tmp_path)
    assert (empty.returncode, empty.stdout) == (0, b"")
    assert empty.stderr == b"sessionref list: there is no such session\n"


def test_text_from_a_log_can_not_deceive(tmp_path: Path) -> None:
    title = "[red]a\x1b[2J\t\u202eb\n"
    logs.write_log(tmp_path / "root", "s\u200b", [logs.title(title)], cwd="/w\n")
    done = shell.run("list", "--root", tmp_path / "root", home=tmp_path)
    *cells, _, session_id = done.stdout.decode().split("\t")
    assert cells == ["[red]a\\u{1b}[2J\\u{9}\\u{202e}b\\u{a}", "/w\\u{a}"]
    assert session_id == "s\\u{200b}\n"
    code, found = shell.report("list", "--root", tmp_path / "root", home=tmp_path)
    assert code == 0
    assert found["candidates"][0]["label"] == title


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "in the future"),
        (0, "just now"),
        (59.9, "just now"),
        (60, "1 minute ago"),
        (3599, "59 minutes ago"),
        (3600, "1 hour ago"),
        (2 * DAY - 1, "1 day ago"),
        (7 * DAY, "1 week ago"),
        (29 * DAY, "4 weeks ago"),
        (30 * DAY, "1 month ago"),
        (364 * DAY, "12 months ago"),
        (365 * DAY, "1 year ago"),
        (2**53 / 1000, "285616 years ago"),
    ],
)
def test_age_in_words(seconds: float, words: str) -> None:
    assert age_in_words(seconds) == words
