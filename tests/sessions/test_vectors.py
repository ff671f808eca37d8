"""The recorded answers, asked of a store in process: surfaces, titles, damaged roots, paths."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from sessionref.sessions.dsh import DshStore
from sessionref.sessions.generations import KNOWN, generation
from sessionref.sessions.model import Listing, ReadError, Reading, Summary, Voice
from sessionref.sessions.paths import encode_segment, project_key
from sessionref.sessions.rows import decoder
from sessionref.sessions.workers import Workers
from sessions import make
from support.roots import SessionRoots
from support.vectors import load
from support.verdicts import differences

READ_ANYWAY = load("read-anyway")
SURFACES = [case for case in load("surface")["cases"] if case["method"] == "surface"]
DAMAGED = load("corrupt")["cases"]
FOLDERS = load("paths")["cases"]

OF_UNKNOWN_TYPE = {"log: unknown required type", "log: unknown ignorable 1"}
BESIDE_THE_SESSION = {
    "flat artifact zstd of victim",
    "flat artifact plain of other id",
    "opposite suffix in other session",
    "session file is a directory",
    "id names a regular file in another project",
}
"""Damaged roots whose victim is sound: what is wrong there is another's problem."""


def names(case: Mapping[str, Any]) -> str:
    return str(case["name"])


def store(root: Path) -> DshStore:
    return DshStore(str(root), Workers(2, 2))


def read(root: Path, session_id: str) -> Reading | ReadError:
    async def ask() -> Reading | ReadError:
        try:
            return await store(root).read(session_id)
        except ReadError as error:
            return error

    return anyio.run(ask)


@pytest.mark.parametrize("case", SURFACES, ids=names)
def test_a_surface_has_the_recorded_nodes(
    case: Mapping[str, Any], session_roots: SessionRoots
) -> None:
    reading = read(session_roots(case["root"]), case["params"]["sessionId"])
    if case["name"] in READ_ANYWAY["surface"]["either"]:
        return
    if case["name"] in READ_ANYWAY["surface"]["read"]:
        assert isinstance(reading, Reading)
        assert (reading.degraded is not None) == (case["name"] in OF_UNKNOWN_TYPE)
    elif "error" in case:
        assert isinstance(reading, ReadError)
        assert reading.cause == "corrupt"
    else:
        assert isinstance(reading, Reading)
        assert [node.seq for node in reading.nodes] == case["result"]["nodes"]
        assert reading.captured_through_seq == case["result"]["capturedThroughSeq"]
        assert reading.header.created_at == case["result"]["session"]["createdAt"]


def survey(root: Path) -> tuple[Listing, Mapping[str, Summary]]:
    async def ask() -> tuple[Listing, Mapping[str, Summary]]:
        found = store(root)
        listing = await found.list()
        return listing, await found.summaries(listing.entries)

    return anyio.run(ask)


@pytest.mark.parametrize("case", DAMAGED, ids=names)
def test_a_damaged_root_hides_nothing_that_is_sound(
    case: Mapping[str, Any], session_roots: SessionRoots
) -> None:
    root = session_roots("corrupt") / case["root"].removeprefix("corrupt/")
    _, summaries = survey(root)
    reading = read(root, case["sessionId"])
    if "error" in case["prepareHealthy"]:  # refused there for the sake of another session
        assert root.exists() == ("healthy" in summaries)
    else:
        healthy = read(root, "healthy")
        assert isinstance(healthy, Reading)
        assert summaries["healthy"].title == "Healthy title"
    if case["name"] in READ_ANYWAY["corrupt"]["either"]:
        return
    if case["name"] in {*READ_ANYWAY["corrupt"]["read"], *BESIDE_THE_SESSION}:
        assert isinstance(reading, Reading)
        return
    if "error" in case["prepare"]:
        assert isinstance(reading, ReadError)
    else:
        (reference,) = case["prepare"]["result"]["additionalContext"]["source"]["references"]
        assert isinstance(reading, Reading)
        assert reading.captured_through_seq == reference["capturedThroughSeq"]
    if "result" in case["candidates"] and case["name"] not in differences("corrupt"):
        labels = {
            item["sessionId"]: item["label"] for item in case["candidates"]["result"]["candidates"]
        }
        assert labels == {
            session_id: session_id if summary.title is None else summary.title
            for session_id, summary in summaries.items()
        }


@pytest.mark.parametrize("case", FOLDERS, ids=names)
def test_a_folder_has_the_recorded_name(case: Mapping[str, Any]) -> None:
    function, key = {
        "encodeSegment": (encode_segment, "segment"),
        "projectKey": (project_key, "key"),
    }[case["method"]]
    (raw,) = case["params"].values()
    if "error" in case:
        with pytest.raises(ValueError, match="folder"):
            function(raw)
    else:
        assert function(raw) == case["result"][key]


# One session in every generation


def examples(root: Path) -> list[Path]:
    return sorted(path.parent for path in root.rglob("expected.json"))


def lay(root: Path, log: Path, session_id: str, *, compressed: bool) -> None:
    """Put a log where its header says, compressed into a frame for every third line."""
    folder = root / "--work-demo--" / session_id
    folder.mkdir(parents=True, exist_ok=True)
    content = log.read_bytes()
    if not compressed:
        (folder / log.name).write_bytes(content)
        return
    head, *lines = content.splitlines(keepends=True)
    batches = [b"".join(lines[at : at + 3]) for at in range(0, len(lines), 3)]
    data = b"".join(map(make.frame, [head, *batches]))
    (folder / f"{log.name}.zstd").write_bytes(data)


def assert_expected(reading: Reading | ReadError, expected: Mapping[str, Any]) -> None:
    assert isinstance(reading, Reading)
    assert reading.header.version == expected["generation"]
    assert reading.title == expected["title"]
    assert reading.degraded is None
    last = expected["lastStoredSeq"]
    assert [node.seq for node in reading.nodes if node.seq <= last] == expected["surface"]
    said = [node for node in reading.nodes if node.voice is not Voice.OTHER and node.text]
    assert [
        {
            "seq": node.seq,
            "role": "assistant" if node.voice is Voice.ASSISTANT else "user",
            "checkpoint": node.voice is Voice.CHECKPOINT,
            "text": node.text,
        }
        for node in said
    ] == expected["conversation"]


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_every_generation_projects_to_what_is_expected(
    session_roots: SessionRoots, tmp_path: Path, compressed: bool
) -> None:
    found = examples(session_roots("generations"))
    assert len(found) >= 2 * len(KNOWN)
    for number, folder in enumerate(found):
        (log,) = folder.glob("session*.jsonl")
        expected = json.loads((folder / "expected.json").read_bytes())
        root = tmp_path / str(number)
        lay(root, log, expected["sessionId"], compressed=compressed)
        assert_expected(read(root, expected["sessionId"]), expected)


def test_the_highest_generation_of_a_session_is_read_and_no_other(
    session_roots: SessionRoots, tmp_path: Path
) -> None:
    for number in range(len(KNOWN)):
        folder = session_roots("generations") / f"v{number}"
        (log,) = folder.glob("session*.jsonl")
        expected = json.loads((folder / "expected.json").read_bytes())
        lay(tmp_path, log, expected["sessionId"], compressed=True)
        assert_expected(read(tmp_path, expected["sessionId"]), expected)
        listing, _ = survey(tmp_path)
        assert [entry.header.version for entry in listing.entries] == [number]
        assert listing.strangers == 0


def test_what_real_writers_write_takes_the_fast_path(session_roots: SessionRoots) -> None:
    for folder in examples(session_roots("generations")):
        if folder.name == "extra-legacy":
            continue
        (log,) = folder.glob("session*.jsonl")
        head, *lines = log.read_bytes().splitlines()
        decode = decoder(generation(json.loads(head)["version"])).decode
        for line in lines:
            decode(line)
