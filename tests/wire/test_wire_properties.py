"""What holds for any strings and any JSON: ids, labels, content. One sidecar answers them all."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import logs, requests
from support.requests import AGENT
from support.sidecar import Sidecar

MANY = settings(max_examples=200, deadline=None, database=None)

TROUBLE = ["\\", "]", "[", "@[", "](", ")", "dsh-session:", "\ud83d", "\ude00", "\n", "\u2028", "<"]
"""Pieces that mean something to a mention, to JSON or to a line."""


def joined(text: str) -> str:
    """As an ECMAScript string: a high surrogate before a low one is one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


# Any code point, the surrogates as well.
CHARACTERS = st.characters(exclude_categories=()) | st.sampled_from(TROUBLE)
STRINGS = st.lists(CHARACTERS, max_size=12).map("".join).map(joined)

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def alone() -> Iterator[Sidecar]:
    """A sidecar with no sessions."""
    with Sidecar() as spawned:
        yield spawned


def stringify(text: str) -> str:
    """`JSON.stringify` of a string."""
    raw = json.dumps(text, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", raw)


def uri(session_id: str) -> str:
    payload = base64.urlsafe_b64encode(stringify(session_id).encode())
    return "dsh-session:" + payload.decode().rstrip("=")


@given(STRINGS, STRINGS, STRINGS.filter(lambda text: "\\" not in text and "@" not in text))
@MANY
def test_a_mention_comes_back_as_it_went(
    alone: Sidecar, session_id: str, label: str, around: str
) -> None:
    around = around.replace("dsh-session:", "").replace("[", "")
    formatted = alone.call("formatMention", {"sessionId": session_id, "label": label})
    assert formatted["uri"] == uri(session_id)
    escaped = re.sub(r"[\\\]]", lambda found: "\\" + found[0], label)
    assert formatted["mention"] == f"@[{escaped}]({uri(session_id)})"

    text = f"{around} {formatted['mention']} {around}"
    parsed = alone.call("parseText", {"text": text})
    assert parsed["text"] == f"{around} @{label} {around}"
    start = len(logs.units(around)) + 1
    end = start + len(logs.units(formatted["mention"]))
    assert parsed["references"] == [
        {"sessionId": session_id, "label": label, "start": start, "end": end}
    ]


@given(STRINGS)
@MANY
def test_a_bare_uri_comes_back_as_its_id(alone: Sidecar, session_id: str) -> None:
    parsed = alone.call("parseText", {"text": f"({uri(session_id)})"})
    assert parsed["text"] == f"(@{session_id})"
    (reference,) = parsed["references"]
    assert (reference["sessionId"], reference["label"]) == (session_id, session_id)


@given(STRINGS.filter(lambda text: "dsh-session:" not in text))
@MANY
def test_a_text_without_the_scheme_comes_back_unchanged(alone: Sidecar, text: str) -> None:
    assert alone.call("parseText", {"text": text}) == {"text": text, "references": []}


def spelled(raw: str | bytes) -> Any:
    """A JSON value in which numbers are their spelling and objects keep their order."""
    return json.loads(raw, parse_int=str, parse_float=str, object_pairs_hook=list)


@given(JSON_VALUES)
@MANY
def test_content_is_passed_through(alone: Sidecar, content: Any) -> None:
    params = {"agent": AGENT, "content": content, "references": []}
    heard = alone.hear(alone.request("prepare", params))
    assert dict(dict(spelled(heard.line))["result"])["content"] == spelled(json.dumps(content))


@given(st.dictionaries(STRINGS, JSON_VALUES, max_size=4), JSON_VALUES)
@MANY
def test_a_message_that_is_not_direct_is_passed_through(
    alone: Sidecar, more: dict[str, Any], content: Any
) -> None:
    message = {**more, "source": {"kind": "plugin"}, "content": content}
    params = requests.pre_step(message)
    heard = alone.hear(alone.request("preStep", params))
    decision = dict(dict(spelled(heard.line))["result"])["decision"]
    assert decision == spelled(json.dumps(params["decision"]))


@given(st.lists(STRINGS.filter(bool), min_size=1, max_size=6, unique=True), STRINGS)
@settings(max_examples=25, deadline=None, database=None)
def test_sessions_of_any_id_are_listed_and_prepared(
    tmp_path_factory: pytest.TempPathFactory, session_ids: list[str], text: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    for session_id in session_ids:
        logs.write_log(root, session_id, [logs.user(text + "!")])
    with Sidecar(roots=[root]) as sidecar:
        found = sidecar.call("listCandidates", {"agent": {"id": ""}})["candidates"]
        assert [item["sessionId"] for item in found] == sorted(session_ids)
        for session_id in session_ids:
            result = sidecar.call("prepare", requests.prepare(session_id))
            context = result["additionalContext"]["content"][0]["text"]
            (snapshot,) = json.loads(context.split("<referenced-sessions>\n")[1].split("\n</")[0])
            assert snapshot["sessionId"] == session_id
            assert snapshot["conversation"] == [{"role": "user", "text": joined(text + "!")}]
