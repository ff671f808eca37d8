"""`preview`: what `prepare` then does, in numbers; checked against `prepare` itself."""

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessionref_protocol.mention import format_mention
from support import logs, requests
from support.answers import CLOSING, OPENING
from support.requests import AGENT
from support.sidecar import Sidecar, WireError

TALK = [logs.user("é" * 300), logs.assistant("answer"), logs.user("last")]
ALPHA = "@[Alpha](dsh-session:InBsYWluLXRhbGsi)"


def sizes(context: dict[str, Any]) -> list[int]:
    """The UTF-8 size of each source in a context message."""
    text = context["content"][0]["text"]
    array = text.split(OPENING)[1].split(CLOSING)[0]
    found: list[int] = []
    at = 1
    while at < len(array):
        _, end = json.JSONDecoder().raw_decode(array, at)
        found.append(len(array[at:end].encode()))
        at = end + 1  # behind a comma, or the bracket
    return found


def without_age(told: dict[str, Any]) -> dict[str, Any]:
    """A preview as it is at any time."""
    sources = [{**source, "ageMs": source.get("ageMs") and 0} for source in told["sources"]]
    return {**told, "sources": sources}


def preview(sidecar: Sidecar, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = sidecar.call("preview", {"agent": AGENT, **params})
    assert list(result) == ["sources", "totals", "errors"]
    return result


def test_what_a_preview_tells_of_a_source(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "b", TALK, cwd="/w", created_at=1_000)
    with Sidecar(roots=[tmp_path]) as sidecar:
        reference = {"sessionId": "b", "label": "Fix login", "capturedThroughSeq": 2}
        before = int(time.time() * 1000)
        result = preview(sidecar, references=[reference], config={"maxReferenceBytes": 500})
        after = int(time.time() * 1000)
    (source,) = result["sources"]
    assert before - 1_000 <= source.pop("ageMs") <= after - 1_000
    size = source["bytes"]
    assert 0 < size <= 500
    assert source == {
        "sessionId": "b",
        "label": "Fix login",
        "inputIndex": 0,
        "status": "prepared",
        "stats": {
            "compacted": False,
            "originalMessages": 3,
            "retainedMessages": 2,
            "omittedMessages": 1,
            "omittedBytes": 600,
            "truncated": True,
        },
        "bytes": size,
        "estimatedTokens": -(-size // 4),
        "createdAt": 1_000,
        "lastActivityAt": logs.CREATED_AT + 2,
        "capturedThroughSeq": 2,
        "stale": False,
    }
    assert result["totals"] == {
        "sources": 1,
        "bytes": size,
        "estimatedTokens": -(-size // 4),
        "originalMessages": 3,
        "retainedMessages": 2,
        "omittedMessages": 1,
        "omittedBytes": 600,
    }
    assert result["errors"] == []


@pytest.mark.parametrize(
    ("captured", "stale"),
    [
        ({}, None),
        ({"capturedThroughSeq": 2}, False),
        ({"capturedThroughSeq": 1}, True),
        ({"capturedThroughSeq": None}, True),
        ({"capturedThroughSeq": 2, "capturedFormatVersion": 0}, False),
        ({"capturedThroughSeq": 2, "capturedFormatVersion": 3}, True),
    ],
)
def test_stale_is_told_where_something_was_captured(
    tmp_path: Path, captured: dict[str, Any], stale: bool | None
) -> None:
    logs.write_log(tmp_path, "b", TALK)
    with Sidecar(roots=[tmp_path]) as sidecar:
        (source,) = preview(sidecar, references=[{"sessionId": "b", **captured}])["sources"]
    assert source.get("stale") == stale


def test_a_stored_reference_becomes_stale_when_its_session_goes_on(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "b", TALK)
    with Sidecar(roots=[tmp_path]) as sidecar:
        context = sidecar.call("prepare", requests.prepare("b"))["additionalContext"]
        (stored,) = context["source"]["references"]
        assert preview(sidecar, references=[stored])["sources"][0]["stale"] is False
        logs.write_log(tmp_path, "b", [*TALK, logs.title("new")])
        assert preview(sidecar, references=[stored])["sources"][0]["stale"] is True


@pytest.mark.parametrize("zstd", [True, False])
def test_the_last_activity_is_that_of_this_moment(tmp_path: Path, zstd: bool) -> None:
    """Whatever was read, listed and remembered before."""
    log = logs.write_log(tmp_path, "b", TALK, zstd=zstd)
    params = {"references": [{"sessionId": "b"}]}
    with Sidecar(roots=[tmp_path]) as sidecar:
        for seq in range(len(TALK), len(TALK) + 3):
            sidecar.call("listCandidates", {"agent": AGENT, "query": "b"})
            for _ in range(2):
                (source,) = preview(sidecar, **params)["sources"]
                assert source["capturedThroughSeq"] == seq - 1
                assert source["lastActivityAt"] == logs.CREATED_AT + seq - 1
            row = logs.line({**logs.user("more"), "seq": seq, "time": logs.CREATED_AT + seq})
            with log.open("ab") as file:
                file.write(logs.frame([row]) if zstd else row)


def test_an_empty_session_and_an_old_one(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "b", created_at=2**52)
    with Sidecar(roots=[tmp_path]) as sidecar:
        (source,) = preview(sidecar, references=[{"sessionId": "b", "capturedThroughSeq": None}])[
            "sources"
        ]
    assert source["status"] == "empty"
    assert (source["capturedThroughSeq"], source["stale"], source["ageMs"]) == (None, False, 0)
    assert "lastActivityAt" not in source


def test_doubts_are_told(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "b", [*TALK, {"type": "who/knows", "data": {}}])
    with Sidecar(roots=[tmp_path]) as sidecar:
        (source,) = preview(sidecar, references=[{"sessionId": "b"}])["sources"]
    assert source["degraded"] == {"reason": "unknown_events", "count": 1}


def test_the_mentions_of_a_text(sidecar: Sidecar) -> None:
    text = f"see {ALPHA} and dsh-session:ImdvbmUi, {ALPHA}"
    result = preview(sidecar, text=text)
    assert [(each["sessionId"], each["label"], each["status"]) for each in result["sources"]] == [
        ("plain-talk", "Alpha", "prepared"),
        ("gone", "gone", "failed"),
    ]
    (error,) = result["errors"]
    assert error == result["sources"][1]["error"]
    assert (error["code"], error["data"]["cause"]) == (-32014, "not_found")
    assert preview(sidecar, text="nothing to see")["sources"] == []


def test_a_malformed_mention_is_an_error_in_the_answer(sidecar: Sidecar) -> None:
    result = preview(sidecar, text=f"{ALPHA} 😀 dsh-session:IiJ")
    assert (result["sources"], result["totals"]["sources"]) == ([], 0)
    (error,) = result["errors"]
    start = len(ALPHA) + 4
    assert error["code"] == -32011
    assert error["data"] == {
        "code": "SESSION_REFERENCE_INVALID_REFERENCE",
        "retryable": False,
        "field": "text",
        "start": start,
        "end": start + 15,
    }


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "text"),
        ({"text": None, "references": None}, "text"),
        ({"text": "x", "references": []}, "references"),
        ({"text": 3}, "text"),
        ({"references": {}}, "references"),
        (
            {"references": [{"sessionId": "b", "capturedThroughSeq": "2"}]},
            "references[0].capturedThroughSeq",
        ),
    ],
)
def test_bad_params(sidecar: Sidecar, params: dict[str, Any], field: str) -> None:
    failure = sidecar.fails("preview", {"agent": AGENT, **params})
    assert (failure.code, failure.data["field"]) == (-32602, field)


def test_where_references_are_switched_off_there_is_nothing_to_preview(sidecar: Sidecar) -> None:
    result = preview(sidecar, text="dsh-session:IiJ", config={"enabled": False})
    assert (result["sources"], result["errors"]) == ([], [])


def test_nothing_of_a_session_is_told(tmp_path: Path) -> None:
    secret = "a-word-of-the-session"
    logs.write_log(tmp_path, "b", [logs.user(secret), logs.title(secret)], cwd=f"/{secret}")
    with Sidecar(roots=[tmp_path]) as sidecar:
        heard = sidecar.hear(
            sidecar.request("preview", {"agent": AGENT, "references": [{"sessionId": "b"}]})
        )
    assert secret.encode() not in heard.line


# What prepare then does

WORDS = st.text(st.sampled_from('ab <\n"é中😀\ud83d'), min_size=1, max_size=30).map(
    lambda text: text * 5
)
ROWS = st.lists(
    st.one_of(
        st.builds(logs.user, WORDS),
        st.builds(logs.assistant, WORDS),
        st.builds(logs.checkpoint, WORDS),
        st.builds(logs.title, WORDS),
        st.just({"type": "who/knows", "data": {}}),
        st.just({"type": "turn/start", "data": {}}),
    ),
    max_size=8,
)
SESSIONS = st.lists(st.one_of(ROWS, ROWS, ROWS, st.none()), min_size=4, max_size=4)
"""None for one whose log is damaged."""
PLACES = st.lists(st.sampled_from([0, 1, 2, 3, 0, 1, 2, 3, 4, -1]), min_size=1, max_size=5)
"""Of a session among those, of one that is not there (4), or of the agent's own (-1)."""
LABELS = st.sampled_from([None, None, "Fix login", "", "L" * 100, "<é]"])
CONFIGS = st.fixed_dictionaries(
    {
        "maxReferences": st.sampled_from([None, None, 1, 2]),
        "maxReferenceBytes": st.none() | st.integers(130, 600),
        "contextWindow": st.sampled_from([None, 200_000]),
        "omissions": st.none() | st.booleans(),
    }
)


class World:
    """A sidecar and its root, in which every example has sessions of its own."""

    def __init__(self, sidecar: Sidecar, root: Path) -> None:
        self.sidecar = sidecar
        self._root = root
        self._numbers = itertools.count()

    def write(self, sessions: Sequence[Any]) -> list[str]:
        ids = [f"session-{next(self._numbers)}" for _ in sessions]
        for session_id, rows in zip(ids, sessions, strict=True):
            log = logs.write_log(self._root, session_id, rows or [logs.user("x")])
            if rows is None:
                damaged = bytearray(log.read_bytes())
                damaged[-1] ^= 1
                log.write_bytes(damaged)
        return ids


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("world")
    with Sidecar(roots=[root]) as sidecar:
        yield World(sidecar, root)


def outcome(sidecar: Sidecar, params: dict[str, Any]) -> dict[str, Any]:
    """The answer of `prepare`, be it an error."""
    try:
        result: dict[str, Any] = sidecar.call("prepare", {**params, "content": []})
        return result
    except WireError as error:
        return {"error": json.loads(str(error))}


@given(SESSIONS, PLACES, st.lists(LABELS, min_size=5, max_size=5), CONFIGS)
@settings(max_examples=150, deadline=None, database=None)
def test_prepare_then_does_what_was_previewed(
    world: World, sessions: list[Any], places: list[int], labels: list[str | None], config: Any
) -> None:
    ids = [*world.write(sessions), "gone"]
    chosen = [AGENT["id"] if at < 0 else ids[at] for at in places]
    references = [
        {"sessionId": session_id} | ({} if label is None else {"label": label})
        for session_id, label in zip(chosen, labels, strict=False)
    ]
    params = {"agent": AGENT, "references": references, "config": config}
    told = world.sidecar.call("preview", params)
    done = outcome(world.sidecar, params)

    if told["errors"]:
        assert done == {"error": told["errors"][0]}
    else:
        context = done.get("additionalContext")
        assert (context is None) is (told["sources"] == [])
        stored = context["source"]["references"] if context else []
        assert [as_stored(source) for source in told["sources"]] == stored
        assert [source["bytes"] for source in told["sources"]] == (
            sizes(context) if context else []
        )
    same_as_skipping(world.sidecar, told, references, config)


def as_stored(source: dict[str, Any]) -> dict[str, Any]:
    """What a context message says of a source that was previewed."""
    names = ("sessionId", "label", "capturedThroughSeq", "inputIndex", "degraded")
    stored = {name: source[name] for name in names if name in source}
    empty = source["stats"]["originalMessages"] == 0
    assert source["status"] == ("empty" if empty else "prepared")
    return {**stored, **source["stats"]}


def same_as_skipping(
    sidecar: Sidecar, told: dict[str, Any], references: list[dict[str, str]], config: Any
) -> None:
    """Source by source, a preview says what the policy `skip` makes of the same mentions."""
    text = " ".join(format_mention(each["sessionId"], each.get("label")) for each in references)
    as_text = sidecar.call("preview", {"agent": AGENT, "text": text, "config": config})
    assert without_age(as_text) == without_age(told)
    policy = {"placement": "after", "onFailure": "skip"}
    message = requests.person(text)
    result = sidecar.call("preStep", requests.pre_step(message, policy=policy, config=config))
    (done,) = result["outcomes"] or [{"references": []}]
    for source, reference in zip(told["sources"], done["references"], strict=True):
        if "error" in reference:
            del reference["error"]["data"]["messageIndex"]
        for name in ("sessionId", "label", "inputIndex", "status", "stats", "error", "degraded"):
            assert source.get(name) == reference.get(name)
