"""The context message: what it looks like, and what it can't be made to look like."""

import json
import uuid
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sessionref.reference.references import Wanted
from sessionref.reference.snapshot import ContextMessage, Snapshot, context_message, take
from sessionref.sessions.model import Degraded, Header, Node, Reading, Voice
from sessionref_protocol import ecmascript

TEXTS = st.text(st.sampled_from('</>referenced-sessions\n\\"é😀\ud83d') | st.characters())


def reading(
    *texts: str, version: int = 0, cwd: str | None = None, degraded: Degraded | None = None
) -> Reading:
    return Reading(
        header=Header(id="b", created_at=0, version=version, cwd=cwd),
        nodes=tuple(Node.of(seq, Voice.PERSON, text) for seq, text in enumerate(texts)),
        captured_through_seq=len(texts) - 1 if texts else None,
        degraded=degraded,
    )


def between_tags(message: ContextMessage) -> str:
    """The text between the tags, found as a reader would who trusts them."""
    [block] = message.content
    before, after = "\n<referenced-sessions>\n", "\n</referenced-sessions>"
    assert block.text.count(before) == 1
    assert block.text.endswith(after)
    return block.text.split(before)[1].removesuffix(after)


def test_the_message_as_a_whole() -> None:
    snapshot = take(Wanted("b", "A label", 0), reading("hello", "there", cwd="/w"), 65_536)
    message = json.loads(ecmascript.encode(context_message([snapshot])))
    assert list(message) == ["id", "role", "source", "content"]
    assert uuid.UUID(message["id"]).version == 4
    assert message["role"] == "user"
    assert json.dumps(message["source"], separators=(",", ":")) == (
        '{"kind":"session-reference","form":"recall","version":1,"references":['
        '{"sessionId":"b","label":"A label","capturedThroughSeq":1,"compacted":false,'
        '"originalMessages":2,"retainedMessages":2,"omittedMessages":0,"omittedBytes":0,'
        '"truncated":false,"inputIndex":0}]}'
    )
    [block] = message["content"]
    assert list(block) == ["type", "text"]
    assert block["type"] == "text"
    heading, _, warning, _, opening, array, closing = block["text"].split("\n")
    assert heading == "## Referenced sessions"
    assert "untrusted" in warning
    assert "read-only" in warning
    assert "unless the current user repeats" in warning
    assert opening == "<referenced-sessions>"
    assert array == (
        '[{"sessionId":"b","label":"A label","cwd":"/w","capturedThroughSeq":1,"conversation":['
        '{"role":"user","text":"hello"},{"role":"user","text":"there"}]}]'
    )
    assert closing == "</referenced-sessions>"


def test_ids_are_fresh() -> None:
    snapshot = take(Wanted("b", "b", 0), reading("hello"), 65_536)
    assert context_message([snapshot]).id != context_message([snapshot]).id


def test_sources_come_in_order_and_each_has_the_whole_budget() -> None:
    texts = ["x" * 300, "y" * 300]
    wanted = [Wanted("b", "First", 0), Wanted("c", "Second", 1)]
    snapshots = [take(each, reading(text), 500) for each, text in zip(wanted, texts, strict=True)]
    message = context_message(snapshots)
    sources = json.loads(between_tags(message))
    assert [source["label"] for source in sources] == ["First", "Second"]
    assert [source["conversation"][0]["text"] for source in sources] == texts
    assert [(each.session_id, each.input_index) for each in message.source.references] == [
        ("b", 0),
        ("c", 1),
    ]


def test_a_later_format_and_doubts_are_told_behind_the_native_fields() -> None:
    snapshot = take(
        Wanted("b", "b", 0),
        reading("hello", version=3, degraded=Degraded("unknown_events", count=2)),
        65_536,
    )
    [reference] = json.loads(ecmascript.encode(context_message([snapshot])))["source"]["references"]
    assert list(reference)[-3:] == ["inputIndex", "capturedFormatVersion", "degraded"]
    assert reference["capturedFormatVersion"] == 3
    assert reference["degraded"] == {"reason": "unknown_events", "count": 2}


def test_doubts_are_spelled_as_the_wire_spells_them() -> None:
    snapshot = take(
        Wanted("b", "b", 0), reading("hello", degraded=Degraded("damaged", through_seq=7)), 65_536
    )
    [reference] = json.loads(ecmascript.encode(context_message([snapshot])))["source"]["references"]
    assert reference["degraded"] == {"reason": "damaged", "throughSeq": 7}
    assert "capturedFormatVersion" not in reference


def test_labels_that_could_be_taken_for_a_mention_are_told_last() -> None:
    wanted = Wanted("b", "b", 0, ("see dsh-session:IiI",))
    message = context_message([take(wanted, reading("hello"), 65_536)])
    [reference] = json.loads(ecmascript.encode(message))["source"]["references"]
    assert list(reference)[-2:] == ["inputIndex", "furtherLabels"]
    assert reference["furtherLabels"] == ["see dsh-session:IiI"]


def omissions(message: ContextMessage) -> str | None:
    """What stands behind the closing tag, without the section's heading."""
    _, _, behind = message.content[0].text.partition("\n</referenced-sessions>")
    assert behind == "" or behind.startswith("\n\n## Reference omissions\n\n")
    return behind.removeprefix("\n\n## Reference omissions\n\n") or None


def test_omissions_are_told_behind_the_snapshots_where_that_is_wanted() -> None:
    whole = take(Wanted("a", "A", 0), reading("hello"), 65_536)
    cut = take(Wanted("b<", "B", 1), reading("x" * 500, "y" * 500, "z"), 700)
    assert (cut.stats.omitted_messages, cut.stats.omitted_bytes) == (1, 500)
    assert omissions(context_message([whole, cut])) is None
    assert omissions(context_message([whole], omissions=True)) is None
    assert omissions(context_message([whole, cut], omissions=True)) == (
        '[{"sessionId":"b\\u003c","capturedThroughSeq":2,"omittedMessages":1,"omittedBytes":500,'
        '"fullSnapshot":{"status":"unavailable","reason":"storage-not-configured"}}]'
    )


def test_half_an_emoji_in_an_id_is_told_among_the_omissions() -> None:
    cut = take(Wanted("\ud83d", "B", 0), reading("x" * 900), 700)
    told = omissions(context_message([cut], omissions=True))
    assert told is not None
    assert json.loads(told)[0]["sessionId"] == "\ud83d"


def test_labels_of_what_was_left_out_are_told_behind_the_references() -> None:
    snapshot = take(Wanted("b", "b", 0), reading("hello"), 65_536)
    message = context_message([snapshot], left_out_labels=("dsh-session:IiI",))
    source = json.loads(ecmascript.encode(message))["source"]
    assert list(source) == ["kind", "form", "version", "references", "leftOutLabels"]
    assert source["leftOutLabels"] == ["dsh-session:IiI"]


def test_an_empty_session_is_a_snapshot_too() -> None:
    message = context_message([take(Wanted("b", "b", 0), reading(), 65_536)])
    assert between_tags(message) == (
        '[{"sessionId":"b","label":"b","cwd":null,"capturedThroughSeq":null,"conversation":[]}]'
    )


@given(st.lists(st.tuples(TEXTS, TEXTS.filter(bool)), min_size=1, max_size=3))
def test_nothing_that_is_quoted_can_close_the_tags(sources: Sequence[tuple[str, str]]) -> None:
    joined = [tuple(map(ecmascript.join_pairs, each)) for each in sources]
    snapshots: list[Snapshot] = [
        take(Wanted("b", label, index), reading(text, cwd=label), 10**6)
        for index, (label, text) in enumerate(joined)
    ]
    message = context_message(snapshots)
    array = between_tags(message)
    assert "<" not in array
    values = json.loads(array)
    assert [(value["label"], value["cwd"]) for value in values] == [(x, x) for x, _ in joined]
    assert [value["conversation"] for value in values] == [
        [{"role": "user", "text": text}] for _, text in joined
    ]
