"""`sessionref doctor`: what it counts, what it names, and that it names nothing else."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from sessionref.cli.checkup import ADVICE
from sessionref_protocol.errors import Cause
from support import logs, shell
from support.roots import SessionRoots, unpack
from support.shapes import check_shape
from support.vectors import load
from support.verdicts import differences

NOTHING_THERE = {"root absent", "id too long for a path component"}
"""Cases without any file of the victim: there is nothing to name."""

WITHOUT_A_CASE = {
    "205-session-file-is-a-directory": {"dirsession"},  # the case asks for an undamaged one
    "207-symlinked-project-directory": set(),  # links are no folders
    "207-symlinked-project-directory-elsewhere": set(),  # a project folder, which is no root
    "210-dangling-session-file": {"victim"},  # something that is no regular file
}
"""What cannot be read in the damaged roots, where no recorded case says it."""

CAUSES = {
    "053-header-version-1": "unsupported_format",
    "194-duplicate-id-in-two-project-dirs": "conflict",
    "205-session-file-is-a-directory": "io",
    "210-dangling-session-file": "io",
}
"""The cause where it is not plain damage."""


def refused(case: dict[str, Any]) -> bool:
    """Whether preparing the victim fails, by the recorded answer and our differences from it."""
    difference = differences("corrupt").get(case["name"], {"answer": {}})["answer"]
    fails = "error" in difference.get("prepare", case["prepare"])
    assert not (fails and case["name"] in load("read-anyway")["corrupt"]["read"])
    return fails


def victims() -> dict[str, set[str]]:
    """By folder, the sessions in it that a read refuses."""
    found = {
        Path(case["root"]).name: {case["sessionId"]}
        if refused(case) and case["name"] not in NOTHING_THERE
        else set()
        for case in load("corrupt")["cases"]
    }
    return {**found, **WITHOUT_A_CASE}


@pytest.fixture(scope="module")
def checkups(
    session_roots: SessionRoots, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[int, Any]]:
    """What doctor says of each damaged root, a few processes at a time."""
    home = tmp_path_factory.mktemp("home")
    base = session_roots("corrupt")
    folders = sorted({*victims(), *(path.name for path in base.iterdir())})
    with ThreadPoolExecutor(2) as pool:
        said = pool.map(
            lambda folder: shell.report("doctor", "--root", base / folder, home=home), folders
        )
        return dict(zip(folders, said, strict=True))


@pytest.mark.parametrize("folder", sorted(victims()))
def test_it_names_whom_a_read_refuses_and_nobody_else(
    folder: str, checkups: dict[str, tuple[int, Any]], session_roots: SessionRoots
) -> None:
    code, report = checkups[folder]
    root = session_roots("corrupt") / folder
    check_shape("DoctorReport", report)
    expected = victims()[folder]
    assert {problem.get("sessionId") for problem in report["problems"]} == expected
    assert code == (1 if expected else 0)
    for problem in report["problems"]:
        check_shape("DoctorProblem", problem)
        assert problem["root"] == str(root)
        assert problem["cause"] == CAUSES.get(folder, "corrupt")
        assert problem["reason"]
        for file in map(Path, problem["files"]):
            assert file.name in ("session.jsonl", "session.jsonl.zstd")
            assert file.is_relative_to(root)
            assert file in root.rglob("*")
        assert len(problem["files"]) == (2 if problem["cause"] == "conflict" else 1)
    (counts,) = report["roots"]
    check_shape("DoctorRoot", counts)
    assert counts["unreadable"] == len(expected)
    uncertain = {"victim"} if folder == "113-zstd-unknown-event-required" else set()
    assert {note["sessionId"] for note in report["notes"]} == uncertain


def test_every_damaged_root_is_looked_at(checkups: dict[str, tuple[int, Any]]) -> None:
    assert checkups.keys() == victims().keys()
    assert sum(code for code, _ in checkups.values()) > 60


def test_people_are_told_file_reason_and_what_to_do(
    session_roots: SessionRoots, tmp_path: Path
) -> None:
    root = session_roots("corrupt") / "029-checksum-flipped-middle-frame"
    done = shell.run("doctor", "--root", root, home=tmp_path)
    assert done.returncode == 1
    assert done.stderr == b""
    assert done.stdout.decode().splitlines() == [
        str(root),
        "  sessions      2 (1 can't be read)",
        "  generations   v0: 2",
        "  encodings     zstd: 2",
        "  with a title  1",
        "  archived      not known",
        "  sub-agents    0",
        "  uncertain     0",
        "  other files   0",
        "",
        f"{root}/--w--/victim/session.jsonl.zstd",
        "  session        victim",
        "  can't be read  a frame of the log is damaged (corrupt)",
        f"  what to do     {ADVICE['corrupt']}",
        "",
        "1 problem in 2 sessions.",
    ]


def test_sessions_are_counted_by_what_they_are(tmp_path: Path) -> None:
    root = tmp_path / "home" / "sessions"
    logs.write_log(root, "a", [logs.user("q"), logs.title("A")], cwd="/w")
    logs.write_log(root, "b", [logs.user("q")], cwd="/w", zstd=False)
    child = logs.write_log(root, "c", [logs.title("C")])
    child.write_bytes(logs.encode(logs.header("c", origin="subagent"), [logs.title("C")]))
    old = logs.write_log(root, "d", [])
    old.with_name(logs.log_name(version=4)).write_bytes(
        logs.encode(logs.header("d", version=4), [logs.user("q")])
    )
    (root / "readme.txt").write_text("no log")
    (root / logs.NO_CWD / "d" / "notes").write_text("no log either")
    storages = tmp_path / "home" / "storages"
    storages.mkdir()
    archived = {"unit": {"version": 2}, "global": {"archivedSessionIds": ["b", "gone"]}}
    (storages / "workspace.json").write_text(json.dumps(archived))
    assert shell.report("doctor", "--root", root, home=tmp_path) == (
        0,
        {
            "roots": [
                {
                    "path": str(root),
                    "sessions": 4,
                    "unreadable": 0,
                    "generations": {"v0": 3, "v4": 1},
                    "encodings": {"none": 1, "zstd": 3},
                    "titled": 2,
                    "subagents": 1,
                    "degraded": 0,
                    "strangers": 2,
                    "archived": 1,
                }
            ],
            "problems": [],
            "notes": [],
        },
    )


def test_the_default_root_is_looked_at(tmp_path: Path) -> None:
    logs.write_log(tmp_path / ".dsh" / "sessions", "a", [logs.user("q")])
    _, report = shell.report("doctor", home=tmp_path)
    (root,) = report["roots"]
    assert root["path"] == str(tmp_path / ".dsh" / "sessions")
    assert root["sessions"] == 1


def test_a_missing_root_is_said_and_is_no_failure(tmp_path: Path) -> None:
    code, report = shell.report("doctor", "--root", tmp_path / "nowhere", home=tmp_path)
    assert code == 0
    assert report["problems"] == []
    assert report["roots"][0]["problem"] == "there is no such folder"
    done = shell.run("doctor", "--root", tmp_path / "nowhere", home=tmp_path)
    assert b"there is no such folder" in done.stdout


def test_a_root_that_is_no_folder_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    code, report = shell.report("doctor", "--root", file, home=tmp_path)
    assert code == 1
    (problem,) = report["problems"]
    assert problem["files"] == [str(file)]
    assert problem["cause"] == "io"
    assert "sessionId" not in problem


def test_both_encodings_of_one_session_are_named(tmp_path: Path) -> None:
    zstd = logs.write_log(tmp_path, "twice", [logs.user("q")], cwd="/w")
    plain = logs.write_log(tmp_path, "twice", [logs.user("q")], cwd="/w", zstd=False)
    code, report = shell.report("doctor", "--root", tmp_path, home=tmp_path)
    assert code == 1
    (problem,) = report["problems"]
    assert problem["files"] == [str(plain), str(zstd)]
    assert (problem["sessionId"], problem["cause"]) == ("twice", "conflict")
    shown = shell.run("doctor", "--root", tmp_path, home=tmp_path).stdout.decode()
    assert str(plain) in shown
    assert str(zstd) in shown


def test_one_session_in_two_roots_is_named_once_with_both_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    files = [logs.write_log(root, "both", [logs.user("q")]) for root in (one, two)]
    logs.write_log(two, "fine", [logs.user("q")])
    code, report = shell.report("doctor", "--root", one, "--root", two, home=tmp_path)
    assert code == 1
    (problem,) = report["problems"]
    assert problem["files"] == list(map(str, files))
    assert (problem["root"], problem["sessionId"]) == (str(one), "both")
    assert problem["advice"] == ADVICE["conflict"]
    assert [(each["sessions"], each["unreadable"]) for each in report["roots"]] == [(1, 1), (2, 1)]


def test_nobody_is_told_to_move_the_only_file(tmp_path: Path) -> None:
    """Two roots may lead to one file; the same root named twice is one root."""
    root, other = tmp_path / "root", tmp_path / "other"
    file = logs.write_log(root, "only", [logs.user("q")])
    code, report = shell.report("doctor", "--root", root, "--root", f"{root}/", home=tmp_path)
    assert (code, report["problems"]) == (0, [])
    link = logs.write_log(other, "only", [])
    link.unlink()
    link.symlink_to(file)
    code, report = shell.report("doctor", "--root", root, "--root", other, home=tmp_path)
    assert code == 1
    (problem,) = report["problems"]
    assert {Path(each) for each in problem["files"]} == {file, link}
    assert "move" not in problem["advice"]
    assert "only once" in problem["advice"]


def test_a_session_is_what_its_folder_or_else_its_header_says(tmp_path: Path) -> None:
    root = tmp_path / "root"
    good = logs.write_log(root, "a/b", [logs.user("q")])
    good.parent.rename(good.parent.with_name("a b"))
    code, report = shell.report("doctor", "--root", root, home=tmp_path)
    assert code == 1
    (problem,) = report["problems"]
    assert problem["sessionId"] == "a/b"
    assert problem["files"] == [str(good.parent.with_name("a b") / good.name)]
    assert "Move it back" in problem["advice"]


def test_a_bad_log_beside_a_good_one_of_the_session_is_only_worth_a_note(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "s", [logs.user("q")], cwd="/w")
    bad = logs.write_log(tmp_path, "s", [logs.user("q")], cwd="/x")
    bad.write_bytes(b"")
    code, report = shell.report("doctor", "--root", tmp_path, home=tmp_path)
    assert code == 0
    assert report["problems"] == []
    (note,) = report["notes"]
    check_shape("DoctorNote", note)
    assert (note["files"], note["sessionId"]) == ([str(bad)], "s")
    assert note["reason"].startswith("the log has no whole first line")


def test_an_uncertain_session_is_named_and_is_no_failure(tmp_path: Path) -> None:
    unknown = {"type": "from/the-future", "data": {}}
    file = logs.write_log(tmp_path, "odd", [logs.user("q"), unknown, unknown])
    code, report = shell.report("doctor", "--root", tmp_path, home=tmp_path)
    assert code == 0
    assert report["roots"][0]["degraded"] == 1
    (note,) = report["notes"]
    check_shape("DoctorNote", note)
    assert (note["files"], note["sessionId"]) == ([str(file)], "odd")
    assert note["degraded"] == {"reason": "unknown_events", "count": 2}
    shown = shell.run("doctor", "--root", tmp_path, home=tmp_path).stdout.decode()
    assert "  can be read  2 of its events are of types that this version does not know" in shown


def test_salvaging_hides_no_damage(session_roots: SessionRoots, tmp_path: Path) -> None:
    root = session_roots("corrupt") / "029-checksum-flipped-middle-frame"
    code, report = shell.report("doctor", "--salvage", "--root", root, home=tmp_path)
    assert code == 1
    assert [problem["sessionId"] for problem in report["problems"]] == ["victim"]


def test_nothing_is_written(tmp_path: Path) -> None:
    root = unpack("corrupt", tmp_path) / "029-checksum-flipped-middle-frame"

    def state() -> list[tuple[str, int, int]]:
        found = [(path, path.lstat()) for path in tmp_path.rglob("*") if path.is_relative_to(root)]
        return sorted((str(path), seen.st_size, seen.st_mtime_ns) for path, seen in found)

    before = state()
    shell.run("doctor", "--root", root, home=tmp_path)
    assert before
    assert state() == before


def test_text_from_a_log_can_not_deceive(tmp_path: Path) -> None:
    name = "\x1b[31mred\u202e\n[bold]x"
    file = logs.write_log(tmp_path, name, [logs.user("q")])
    file.write_bytes(b"")
    done = shell.run("doctor", "--root", tmp_path, home=tmp_path)
    assert done.returncode == 1
    assert shell.ESCAPE not in done.stdout
    assert "  session        \\u{1b}[31mred\\u{202e}\\u{a}[bold]x\n" in done.stdout.decode()
    _, report = shell.report("doctor", "--root", tmp_path, home=tmp_path)
    assert report["problems"][0]["sessionId"] == name


def test_each_cause_has_its_one_sentence_that_repairs_nothing() -> None:
    assert ADVICE.keys() == set(get_args(Cause))
    for advice in ADVICE.values():
        assert advice.endswith(".")
        assert advice.count(". ") == 0
        assert "repair" not in advice
