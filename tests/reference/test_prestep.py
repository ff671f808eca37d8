"""The pre-step: plan, fake reads, assemble. Messages are bytes, and stay so where they should."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from sessionref.reference.prestep import (
    NATIVE,
    NEVER_BLOCK,
    Assembled,
    Outcome,
    Policy,
    assemble,
    plan,
)
from sessionref.reference.references import Wanted
from sessionref.reference.snapshot import Snapshot, take
from sessionref.sessions.model import Header, Node, Reading, Voice
from sessionref_protocol import ecmascript
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.mention import encode_uri, format_mention

A, B = format_mention("a", "Alpha"), format_mention("b", "Beta")
BAD = "see dsh-session:IiJ"
BEFORE = Policy("before", "terminate")
AFTER_SOFT = Policy("after", "passthrough")
PLAIN = '{"source":{"kind":"user"},"content":[{"type":"text","text":"%s"}]}'
SKIP_AFTER = Policy("after", "skip")
SKIP_BEFORE = Policy("before", "skip")
POLICIES = [NATIVE, NEVER_BLOCK, BEFORE, AFTER_SOFT, SKIP_AFTER, SKIP_BEFORE]


def direct(*texts: str) -> str:
    return json.dumps(
        {
            "id": "m1",
            "role": "user",
            "source": {"kind": "user"},
            "content": [{"type": "text", "text": text} for text in texts],
        },
        separators=(",", ":"),
    )


def recall(*references: tuple[str, str]) -> str:
    entries = [{"sessionId": session_id, "label": label} for session_id, label in references]
    source = {"kind": "session-reference", "form": "recall", "version": 1, "references": entries}
    return json.dumps({"id": "r1", "role": "user", "source": source, "content": []})


def enter(*messages: str) -> Raw:
    return Raw(f'{{"kind":"enter","messages":[{",".join(messages)}]}}'.encode())


def failure(cause: str = "not_found") -> RpcError:
    return RpcError(ErrorKind.READ_FAILED, f"No: {cause}.")


def read(wanted: Wanted, text: str | RpcError) -> Snapshot | RpcError:
    """A session of one message; of none where the text is empty."""
    if isinstance(text, RpcError):
        return text
    reading = Reading(
        header=Header(id=wanted.session_id, created_at=0, version=0),
        nodes=(Node.of(0, Voice.PERSON, text),),
        captured_through_seq=0,
    )
    return take(wanted, reading, 65_536)


def run(
    decision: Raw,
    policy: Policy = NATIVE,
    sessions: Mapping[str, str | RpcError] | None = None,
    agent_id: str = "me",
) -> Assembled:
    """The whole pre-step. A session that `sessions` does not name says its own id."""
    known = sessions or {}
    planned = plan(decision, policy=policy, agent_id=agent_id, max_references=3)
    return assemble(
        planned,
        {
            step.message_index: [
                read(wanted, known.get(wanted.session_id, "in " + wanted.session_id))
                for wanted in step.wanted
            ]
            for step in planned.pending
        },
    )


def raw_messages(decision: Raw) -> list[bytes]:
    members = ecmascript.decode(decision, dict[str, Raw])
    return [bytes(each) for each in ecmascript.decode(members["messages"], list[Raw])]


def messages(decision: Raw) -> list[Any]:
    return [json.loads(each) for each in raw_messages(decision)]


def kinds(decision: Raw) -> list[str]:
    return [message["source"]["kind"] for message in messages(decision)]


def texts(message: Any) -> list[str]:
    return [block["text"] for block in message["content"]]


def statuses(outcome: Outcome) -> list[tuple[str, str]]:
    return [(each.session_id, each.status) for each in outcome.references]


# Decisions


@pytest.mark.parametrize("policy", POLICIES)
def test_a_rejection_comes_back_as_it_is(policy: Policy) -> None:
    decision = Raw(('{"kind":"reject", "reason":1e400,"messages":[' + direct(BAD) + "]}").encode())
    result = run(decision, policy)
    assert result.decision is decision
    assert result.outcomes == ()


@pytest.mark.parametrize(
    ("decision", "field"),
    [
        ("[]", "decision"),
        ("null", "decision"),
        ("{}", "decision.kind"),
        ('{"kind":"leave","messages":[]}', "decision.kind"),
        ('{"kind":null,"messages":[]}', "decision.kind"),
        ('{"kind":"enter"}', "decision.messages"),
        ('{"kind":"enter","messages":{}}', "decision.messages"),
    ],
)
def test_what_is_no_decision(decision: str, field: str) -> None:
    with pytest.raises(RpcError) as caught:
        run(Raw(decision.encode()))
    assert caught.value.kind is ErrorKind.INVALID_PARAMS
    assert caught.value.field == field


def test_other_members_of_the_decision_survive_in_place() -> None:
    decision = Raw(('{"a":1.0,"messages":[' + direct(A) + '],"kind":"enter","z":1e400}').encode())
    result = bytes(run(decision).decision)
    assert result.startswith(b'{"a":1.0,"messages":[')
    assert result.endswith(b'],"kind":"enter","z":1e400}')


# Rewriting and placement


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        (NATIVE, ["user", "session-reference"]),
        (AFTER_SOFT, ["user", "session-reference"]),
        (NEVER_BLOCK, ["session-reference", "user"]),
        (BEFORE, ["session-reference", "user"]),
        (SKIP_AFTER, ["user", "session-reference"]),
        (SKIP_BEFORE, ["session-reference", "user"]),
    ],
)
def test_the_context_stands_where_the_policy_says(policy: Policy, order: list[str]) -> None:
    plugin = '{"id":"p","source":{"kind":"plugin"},"content":[]}'
    result = run(enter(plugin, direct(f"compare {A} now"), plugin), policy)
    assert kinds(result.decision) == ["plugin", *order, "plugin"]
    message = messages(result.decision)[1 + order.index("user")]
    assert texts(message) == ["compare @Alpha now"]
    assert message["id"] == "m1"
    context = messages(result.decision)[1 + order.index("session-reference")]
    [outcome] = result.outcomes
    assert outcome.message_index == 1
    assert outcome.message_id == Raw(b'"m1"')
    assert outcome.status == "prepared"
    assert outcome.context_id == context["id"]
    assert statuses(outcome) == [("a", "prepared")]
    assert outcome.references[0].stats is not None
    assert outcome.references[0].stats.original_messages == 1


def test_everything_but_the_mention_stays_byte_for_byte() -> None:
    image = '{"type":"image","data":{"b":1.0,"a":[1e400,12345678901234567890123]}}'
    message = (
        '{"z":1.50,"content":[%s,{"cache":{"y":-0,"x":1E2},"text":"%s","type":"text","n":null},'
        '{"type":"text","text":"plain \\u0041","k":2.0}],"source":{"rpcId":7.0,"kind":"user"},'
        '"id":3.0,"a":"\\ud83d"}'
    )
    [rewritten, _] = raw_messages(run(enter(message % (image, A))).decision)
    assert rewritten.decode() == message % (image, "@Alpha")


def test_a_message_without_an_id_has_none_in_its_outcome() -> None:
    message = PLAIN.replace("%s", A)
    [outcome] = run(enter(message)).outcomes
    assert outcome.message_id is UNSET


def test_references_are_collected_over_the_blocks_of_one_message_in_order() -> None:
    again = format_mention("b", "Again")
    result = run(enter(direct(f"{B} and", "nothing", f"{A} then {again}")))
    rewritten, context = messages(result.decision)
    assert texts(rewritten) == ["@Beta and", "nothing", "@Alpha then @Again"]
    references = context["source"]["references"]
    assert [(each["sessionId"], each["label"], each["inputIndex"]) for each in references] == [
        ("b", "Beta", 0),
        ("a", "Alpha", 1),
    ]


def test_each_message_has_a_context_of_its_own() -> None:
    result = run(enter(direct(A), direct("no mention"), direct(A)))
    assert kinds(result.decision) == [
        "user",
        "session-reference",
        "user",
        "user",
        "session-reference",
    ]
    first, second = result.outcomes
    assert (first.message_index, second.message_index) == (0, 2)
    assert first.context_id != second.context_id


def test_a_mention_spelled_with_escapes_is_found() -> None:
    escaped = A.replace("dsh-session", "\\u0064sh\\u002Dsession")
    assert escaped != A
    [rewritten, _] = messages(run(enter(PLAIN.replace("%s", escaped))).decision)
    assert texts(rewritten) == ["@Alpha"]


def test_half_an_emoji_beside_a_mention_survives() -> None:
    message = (
        '{"source":{"kind":"user"},"content":[{"type":"text","text":"\\ud83d%s"}],"k":"\\udc00"}'
    )
    [rewritten, _] = raw_messages(run(enter(message % A)).decision)
    assert rewritten.decode() == message % "@Alpha"


def test_an_empty_session_is_inserted_and_told() -> None:
    result = run(enter(direct(f"{A} {B}"), direct(A)), sessions={"a": ""})
    mixed, empty = result.outcomes
    assert (mixed.status, statuses(mixed)) == ("prepared", [("a", "empty"), ("b", "prepared")])
    assert (empty.status, statuses(empty)) == ("empty", [("a", "empty")])
    assert kinds(result.decision)[2:] == ["user", "session-reference"]


UNTOUCHED = [
    "null",
    "3",
    '"%s"',
    '["%s"]',
    "{}",
    '{"source":{"kind":"user"}}',
    '{"source":{"kind":"user"},"content":null}',
    '{"source":{"kind":"user"},"content":"%s"}',
    '{"source":{"kind":"user"},"content":{"0":{"type":"text","text":"%s"}}}',
    '{"source":{"kind":"user"},"content":[null,3,"%s",[],{}]}',
    '{"source":{"kind":"user"},"content":[{"type":"text","text":["%s"]}]}',
    '{"source":{"kind":"user"},"content":[{"type":"text"},{"text":"%s"},{"type":3,"text":"%s"}]}',
    '{"source":{"kind":"user"},"content":[{"type":"tool-result","content":[{"type":"text","text":"%s"}]}]}',
    '{"source":{"kind":"plugin","plugin":"x"},"content":[{"type":"text","text":"%s"}]}',
    '{"source":{"kind":"tool"},"content":[{"type":"text","text":"%s"}]}',
    '{"source":"user","content":[{"type":"text","text":"%s"}]}',
    '{"source":{"kind":["user"]},"content":[{"type":"text","text":"%s"}]}',
    '{"source":null,"content":[{"type":"text","text":"%s"}]}',
    '{"content":[{"type":"text","text":"%s"}]}',
    '{"source":{"kind":"user"},"content":[{"type":"text","text":"see dsh-session: and @[x]"}]}',
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shape", UNTOUCHED)
@pytest.mark.parametrize("text", [A, BAD])
def test_what_is_no_direct_message_with_a_mention_is_none_of_our_business(
    policy: Policy, shape: str, text: str
) -> None:
    decision = enter(shape.replace("%s", text))
    result = run(decision, policy)
    assert result.decision is decision
    assert result.outcomes == ()


# Failures


def test_the_first_failing_message_terminates_the_request() -> None:
    sessions = {"a": failure("first"), "b": failure("second")}
    with pytest.raises(RpcError) as caught:
        run(enter(direct("fine"), direct(A), direct(B)), NATIVE, sessions)
    assert caught.value is sessions["a"]
    assert caught.value.message_index == 1


def test_a_malformed_mention_terminates_without_reads_behind_it() -> None:
    decision = enter(direct(A), direct(BAD), direct(B))
    planned = plan(decision, policy=NATIVE, agent_id="me", max_references=3)
    assert [step.message_index for step in planned.pending] == [0]
    with pytest.raises(RpcError) as caught:
        run(decision)
    error = caught.value
    assert error.kind is ErrorKind.INVALID_REFERENCE
    assert (error.message_index, error.field) == (1, "decision.messages[1].content[0].text")
    assert (error.start, error.end) == (4, 19)


def test_an_earlier_failed_read_comes_before_a_malformed_mention() -> None:
    gone = failure()
    with pytest.raises(RpcError) as caught:
        run(enter(direct(A), direct(BAD)), NATIVE, {"a": gone})
    assert caught.value is gone


def test_a_failing_message_passes_untouched_and_the_others_are_prepared() -> None:
    gone = failure()
    decision = enter(direct(f"{A} {B}"), direct(BAD), direct(B))
    result = run(decision, NEVER_BLOCK, {"a": gone})
    assert kinds(result.decision) == ["user", "user", "session-reference", "user"]
    assert raw_messages(result.decision)[:2] == raw_messages(decision)[:2]
    failed, malformed, prepared = result.outcomes
    assert [each.message_index for each in result.outcomes] == [0, 1, 2]
    assert (failed.status, failed.error, failed.context_id) == ("failed", gone, None)
    assert statuses(failed) == [("a", "failed"), ("b", "prepared")]
    assert [each.error for each in failed.references] == [gone, None]
    assert malformed.status == "failed"
    assert malformed.references == ()
    assert malformed.error is not None
    assert malformed.error.kind is ErrorKind.INVALID_REFERENCE
    assert prepared.status == "prepared"


def test_where_nothing_could_be_prepared_the_decision_is_the_very_same() -> None:
    decision = enter(direct(A))
    result = run(decision, AFTER_SOFT, {"a": failure()})
    assert result.decision is decision
    assert [outcome.status for outcome in result.outcomes] == ["failed"]


def test_the_agents_own_session_fails_its_message_before_any_read() -> None:
    decision = enter(direct(f"{A} {B}"))
    planned = plan(decision, policy=NEVER_BLOCK, agent_id="b", max_references=3)
    assert planned.pending == ()
    [outcome] = assemble(planned, {}).outcomes
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.SELF_REFERENCE
    assert outcome.error.message_index == 0
    assert statuses(outcome) == [("a", "failed"), ("b", "failed")]
    assert [each.error for each in outcome.references] == [outcome.error] * 2


def test_too_many_sources_are_counted_for_each_message() -> None:
    both = f"{A} {B}"
    planned = plan(
        enter(direct(A), direct(B), direct(both)),
        policy=NEVER_BLOCK,
        agent_id="me",
        max_references=1,
    )
    assert [step.message_index for step in planned.pending] == [0, 1]
    [failed] = [step for step in planned.steps if isinstance(step, Outcome)]
    assert failed.error is not None
    assert failed.error.kind is ErrorKind.TOO_MANY
    assert [each.label for each in failed.references] == ["Alpha", "Beta"]


# Skipping


def test_a_reference_that_fails_is_left_out_and_the_others_are_prepared() -> None:
    gone = failure()
    c = format_mention("c", "Gamma")
    result = run(enter(direct(f"{A}, {B}, {c}")), SKIP_AFTER, {"b": gone})
    rewritten, context = messages(result.decision)
    assert texts(rewritten) == ["@Alpha, @Beta, @Gamma"]
    references = context["source"]["references"]
    assert [(each["sessionId"], each["inputIndex"]) for each in references] == [("a", 0), ("c", 2)]
    assert "leftOutLabels" not in context["source"]
    [outcome] = result.outcomes
    assert (outcome.status, outcome.error, outcome.context_id) == ("prepared", None, context["id"])
    assert statuses(outcome) == [("a", "prepared"), ("b", "failed"), ("c", "prepared")]
    assert outcome.references[1].error is gone
    assert gone.message_index == 0


def test_an_empty_session_beside_one_that_fails_is_still_empty() -> None:
    [outcome] = run(enter(direct(f"{A} {B}")), SKIP_AFTER, {"a": "", "b": failure()}).outcomes
    assert outcome.status == "empty"
    assert statuses(outcome) == [("a", "empty"), ("b", "failed")]


@pytest.mark.parametrize("policy", [SKIP_AFTER, SKIP_BEFORE])
def test_where_every_reference_fails_the_message_is_readable_and_has_no_context(
    policy: Policy,
) -> None:
    first, second = failure("first"), failure("second")
    decision = enter(direct("x"), direct(f"{B} {A}"))
    result = run(decision, policy, {"a": second, "b": first})
    assert [texts(each) for each in messages(result.decision)] == [["x"], ["@Beta @Alpha"]]
    [outcome] = result.outcomes
    assert (outcome.status, outcome.error, outcome.context_id) == ("failed", first, None)
    assert run(result.decision, policy) == Assembled(result.decision, ())


def test_the_own_session_and_those_beyond_the_limit_are_left_out_without_a_read() -> None:
    decision = enter(direct(f"{A} {B} {format_mention('c')} {format_mention('d', 'Delta')}"))
    planned = plan(decision, policy=SKIP_AFTER, agent_id="a", max_references=2)
    [step] = planned.pending
    assert [wanted.session_id for wanted in step.wanted] == ["b", "c"]
    result = assemble(planned, {0: [read(wanted, "hello") for wanted in step.wanted]})
    [outcome] = result.outcomes
    assert statuses(outcome) == [
        ("a", "failed"),
        ("b", "prepared"),
        ("c", "prepared"),
        ("d", "failed"),
    ]
    kinds_seen = [each.error and each.error.kind for each in outcome.references]
    assert kinds_seen == [ErrorKind.SELF_REFERENCE, None, None, ErrorKind.TOO_MANY]
    assert [each.input_index for each in outcome.references] == [0, 1, 2, 3]
    assert texts(messages(result.decision)[0]) == ["@Alpha @Beta @c @Delta"]


def test_the_own_session_alone_leaves_a_readable_message() -> None:
    [outcome] = run(enter(direct(A)), SKIP_AFTER, agent_id="a").outcomes
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.SELF_REFERENCE


@pytest.mark.parametrize("policy", [SKIP_AFTER, SKIP_BEFORE])
def test_a_malformed_mention_is_no_reference_that_could_be_left_out(policy: Policy) -> None:
    decision = enter(direct(A, BAD))
    result = run(decision, policy)
    assert result.decision is decision
    [outcome] = result.outcomes
    assert (outcome.status, outcome.references) == ("failed", ())
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.INVALID_REFERENCE


def test_a_label_that_looks_like_a_mention_stays_as_it_is_where_no_context_guards_it() -> None:
    decision = enter(direct(format_mention("gone", "see dsh-session:ImEi")))
    result = run(decision, SKIP_AFTER, {"gone": failure()})
    assert result.decision is decision
    assert [outcome.status for outcome in result.outcomes] == ["failed"]


def test_a_label_that_looks_like_a_mention_is_remembered_where_its_reference_is_left_out() -> None:
    mention = format_mention("gone", "see dsh-session:ImIi")
    sessions = {"gone": failure()}
    first = run(enter(direct(f"{A} {mention}")), SKIP_AFTER, sessions)
    rewritten, context = messages(first.decision)
    assert texts(rewritten) == ["@Alpha @see dsh-session:ImIi"]
    assert context["source"]["leftOutLabels"] == ["see dsh-session:ImIi"]
    again = run(first.decision, SKIP_AFTER, sessions)
    assert again.decision is first.decision
    assert [outcome.status for outcome in again.outcomes] == ["already"]


def test_what_was_left_out_does_not_move_the_others_in_what_a_recall_tells() -> None:
    first = run(enter(direct(f"{B} {A}")), SKIP_AFTER, {"b": failure()})
    [again] = run(first.decision, SKIP_AFTER).outcomes
    assert [(each.session_id, each.input_index) for each in again.references] == [("a", 1)]


def test_omissions_are_told_where_that_is_wanted() -> None:
    planned = plan(enter(direct(A)), policy=NATIVE, agent_id="me", max_references=3)
    wanted = planned.pending[0].wanted[0]
    reading = Reading(
        header=Header(id="a", created_at=0, version=0),
        nodes=(Node.of(0, Voice.PERSON, "x" * 900), Node.of(1, Voice.PERSON, "y")),
        captured_through_seq=1,
    )
    for omissions in (False, True):
        result = assemble(planned, {0: [take(wanted, reading, 500)]}, omissions=omissions)
        [text] = texts(messages(result.decision)[1])
        assert ("## Reference omissions" in text) is omissions


# Already


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", [A, f"see @Alpha, {encode_uri('a')}.", "see @Alpha"])
def test_a_message_beside_its_recall_is_untouched(policy: Policy, text: str) -> None:
    pair = [direct(text), recall(("a", "Alpha"))]
    decision = enter(*(pair if policy.placement == "after" else reversed(pair)))
    result = run(decision, policy)
    assert result.decision is decision
    [outcome] = result.outcomes
    assert outcome.status == "already"
    assert outcome.context_id == "r1"
    assert outcome.error is None
    assert statuses(outcome) == [("a", "prepared")]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_recall_on_the_other_side_is_not_its_own(policy: Policy) -> None:
    pair = [direct(A), recall(("a", "Alpha"))]
    decision = enter(*(pair if policy.placement == "before" else reversed(pair)))
    [outcome] = run(decision, policy).outcomes
    assert outcome.status == "prepared"


def test_each_recall_of_a_chain_belongs_to_its_own_message() -> None:
    after = enter(direct(A), recall(("a", "Alpha")), direct(B), recall(("b", "Beta")))
    assert [outcome.status for outcome in run(after, NATIVE).outcomes] == ["already", "already"]
    before = enter(recall(("a", "Alpha")), direct(A), recall(("b", "Beta")), direct(B))
    result = run(before, NEVER_BLOCK)
    assert [outcome.status for outcome in result.outcomes] == ["already", "already"]
    assert result.decision is before


def test_the_recall_of_another_message_does_not_count() -> None:
    """It was put before the second message, and the policy now says after."""
    result = run(enter(direct(A), recall(("b", "Beta")), direct("@Beta")), NATIVE)
    assert [(each.message_index, each.status) for each in result.outcomes] == [(0, "prepared")]
    assert kinds(result.decision) == ["user", "session-reference", "session-reference", "user"]


def test_a_plain_message_before_a_recall_is_no_outcome() -> None:
    decision = enter(direct("hello"), recall(("b", "Beta")), direct("@Beta"))
    assert run(decision, NATIVE) == Assembled(decision, ())


def test_a_mention_added_since_is_prepared() -> None:
    result = run(enter(direct(f"@Alpha and {B}"), recall(("a", "Alpha"))))
    [outcome] = result.outcomes
    assert statuses(outcome) == [("b", "prepared")]
    assert texts(messages(result.decision)[0]) == ["@Alpha and @Beta"]


def test_a_mention_taken_out_since_changes_nothing() -> None:
    [outcome] = run(enter(direct(A), recall(("a", "Alpha"), ("b", "Beta")))).outcomes
    assert outcome.status == "already"


def test_only_a_neighbour_counts() -> None:
    plugin = '{"source":{"kind":"plugin"},"content":[]}'
    [outcome] = run(enter(direct(A), plugin, recall(("a", "Alpha")))).outcomes
    assert outcome.status == "prepared"


@pytest.mark.parametrize(
    "source",
    [
        '{"kind":"session-reference","form":"recall"}',
        '{"kind":"session-reference","form":"recall","references":null}',
        '{"kind":"session-reference","form":"recall","references":[null,{},{"sessionId":3}]}',
    ],
)
@pytest.mark.parametrize(
    ("text", "expected"), [(A, ["already"]), (BAD, ["already"]), ("hello", [])]
)
def test_a_recall_that_cannot_be_read_is_given_the_benefit_of_the_doubt(
    source: str, text: str, expected: list[str]
) -> None:
    decision = enter(direct(text), f'{{"source":{source}}}')
    result = run(decision)
    assert [outcome.status for outcome in result.outcomes] == expected
    assert result.decision is decision


@pytest.mark.parametrize(
    "source",
    [
        '{"kind":"session-reference","form":"list","references":[{"sessionId":"a"}]}',
        '{"kind":"plugin","form":"recall","note":"session-reference"}',
        '"session-reference"',
    ],
)
def test_what_is_no_recall_message(source: str) -> None:
    [outcome] = run(enter(direct(A), f'{{"source":{source}}}')).outcomes
    assert outcome.status == "prepared"


def test_a_malformed_mention_beside_the_recall_of_another_message_fails() -> None:
    with pytest.raises(RpcError) as caught:
        run(enter(direct(BAD), recall(("b", "Beta"))))
    assert caught.value.kind is ErrorKind.INVALID_REFERENCE


def test_an_already_prepared_message_tells_what_its_recall_says() -> None:
    decision = run(enter(direct(f"{A} {B}")), sessions={"a": ""}).decision
    [first] = run(enter(direct(f"{A} {B}")), sessions={"a": ""}).outcomes
    [again] = run(decision).outcomes
    assert again.status == "already"
    assert again.references == first.references
    assert again.context_id == messages(decision)[1]["id"]


LABELS = st.sampled_from(
    [
        "Alpha",
        "",
        "@",
        "]\\[",
        "x dsh-session:IiI",
        "dsh-session:IiJ",
        "[y](dsh-session:IiI)",
        A,
        B,
        f"{A} dsh-session:IiJ",
        "\ud83d",
    ]
)
SCRAPS = st.sampled_from(["hello ", " @", "\udc00", "[", "](", "@[", "\\"])


MENTIONS = st.builds(format_mention, st.sampled_from(["a", "b", ""]), LABELS)
TEXTS = st.lists(SCRAPS | MENTIONS, max_size=4).map("".join).map(ecmascript.join_pairs)
BLOCKS = st.lists(TEXTS, min_size=1, max_size=2)
MESSAGES = st.one_of(
    BLOCKS.map(lambda texts: direct(*texts)),
    st.sampled_from(UNTOUCHED),
    st.just(recall(("a", "Alpha"))),
)


@given(st.lists(MESSAGES, max_size=4), st.sampled_from(["after", "before"]))
def test_only_direct_messages_with_an_outcome_change(
    given_messages: list[str], placement: Any
) -> None:
    decision = enter(*given_messages)
    result = run(decision, Policy(placement, "passthrough"))
    changed = {
        outcome.message_index: outcome.context_id
        for outcome in result.outcomes
        if outcome.status in ("prepared", "empty")
    }
    after = raw_messages(result.decision)
    for index, message in enumerate(raw_messages(decision)):
        if index not in changed:
            assert ecmascript.compact(after.pop(0)) == ecmascript.compact(message)
            continue
        pair = [json.loads(after.pop(0)), json.loads(after.pop(0))]
        rewritten, context = pair if placement == "after" else reversed(pair)
        assert context["id"] == changed[index]
        original = json.loads(message)
        assert {**rewritten, "content": None} == {**original, "content": None}
        assert list(rewritten) == list(original)
    assert after == []


@given(
    BLOCKS,
    st.sampled_from(["after", "before"]),
    st.sampled_from(["passthrough", "skip"]),
    st.sets(st.sampled_from(["a", "b", ""])),
)
def test_running_again_on_its_own_output_changes_nothing(
    blocks: list[str], placement: Any, on_failure: Any, failing: set[str]
) -> None:
    policy = Policy(placement, on_failure)
    sessions = {session_id: failure() for session_id in failing}
    first = run(enter(direct(*blocks)), policy, sessions)
    second = run(first.decision, policy, sessions)
    assert bytes(second.decision) == bytes(first.decision)
    expected = ["already" if each.status == "prepared" else each.status for each in first.outcomes]
    if on_failure == "skip" and bytes(first.decision) != bytes(enter(direct(*blocks))):
        expected = [status for status in expected if status == "already"]
    assert [each.status for each in second.outcomes] == expected
