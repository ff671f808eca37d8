"""Transcripts that want to be taken for something else, over the installed program.

A model gets their text as JSON between two tags and nowhere else; people are shown no control.
Programs get every id and text exactly.
"""

import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support import logs, requests, shell
from support.editor import URI, Editor
from support.hostile import TEXTS, deceiving
from support.sidecar import Sidecar, encode

OPENING, CLOSING = "<referenced-sessions>", "</referenced-sessions>"
SPELLED = re.compile(r"\\u\{([0-9a-f]+)\}")

hostile_texts = pytest.mark.parametrize("name", TEXTS)


def session_id(name: str) -> str:
    return f"{name}: {TEXTS[name]}"


def without(text: str, unwanted: str) -> str:
    """The text without these characters, and without backslashes."""
    return text.translate({ord(each): None for each in unwanted + "\\"})


def rows(text: str) -> list[logs.Row]:
    """A talk in which everything is the text: what is quoted of it, and what never is."""
    call = {"type": "tool-call", "id": text, "name": text, "arguments": text}
    asked = logs.assistant(text)
    asked["data"]["message"]["content"] += [call, {"type": "reasoning", "text": text}]
    result = {
        "type": "tool/result",
        "data": {"message": {"source": {"kind": "tool", "callId": text}, "content": []}},
        "surfaceOp": "append",
    }
    return [logs.user(text), asked, result, logs.checkpoint(text), logs.title(text)]


def write(root: Path, id_: str, text: str) -> None:
    logs.write_log(root, id_, rows(text), cwd=f"/w/{text}")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session for each text, and a damaged one."""
    made = tmp_path_factory.mktemp("hostile")
    for name, text in TEXTS.items():
        write(made, session_id(name), text)
        logs.write_log(made, f"bad {text}", [b"{"], cwd=f"/bad/{text}")
    return made


@pytest.fixture(scope="module")
def sidecar(root: Path) -> Iterator[Sidecar]:
    with Sidecar("--index-previews", roots=[root]) as spawned:
        yield spawned


@pytest.fixture(scope="module")
def editor(root: Path) -> Iterator[Editor]:
    with Editor(root, "--candidate-limit", "1000") as started:
        started.open("")
        yield started


# What a model gets


def framed(context: dict[str, Any]) -> tuple[list[Any], str]:
    """The sources between the tags, and what stands behind them. Nothing else holds a `<`."""
    (block,) = context["content"]
    text: str = block["text"]
    assert (text.count(OPENING), text.count(CLOSING), text.count("<")) == (1, 1, 2)
    _, _, rest = text.partition(f"\n{OPENING}\n")
    quoted, _, behind = rest.partition(f"\n{CLOSING}")
    assert "\n" not in quoted
    return json.loads(quoted), behind


def source(id_: str, text: str, label: str) -> dict[str, Any]:
    said = [("user", text), ("assistant", text), ("user", text)]
    return {
        "sessionId": id_,
        "label": label,
        "cwd": f"/w/{text}",
        "capturedThroughSeq": 4,
        "conversation": [{"role": role, "text": each} for role, each in said],
    }


def prepare(sidecar: Sidecar, id_: str, label: str, **config: Any) -> dict[str, Any]:
    params = requests.prepare(id_, config=config)
    params["references"][0]["label"] = label
    context = sidecar.call("prepare", params)["additionalContext"]
    assert isinstance(context, dict)
    return context


@hostile_texts
def test_nothing_leaves_the_json_of_a_snapshot(sidecar: Sidecar, name: str) -> None:
    text = TEXTS[name]
    context = prepare(sidecar, session_id(name), text)
    assert framed(context) == ([source(session_id(name), text, text)], "")


@hostile_texts
def test_nothing_leaves_it_where_something_was_left_out(tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    logs.write_log(tmp_path, session_id(name), [logs.user(text * 400), logs.assistant(text * 400)])
    with Sidecar(roots=[tmp_path]) as own:
        context = prepare(own, session_id(name), text, maxReferenceBytes=4_000, omissions=True)
    (quoted,), behind = framed(context)
    assert (quoted["sessionId"], quoted["label"]) == (session_id(name), text)
    assert context["source"]["references"][0]["truncated"]
    heading, _, array = behind.rpartition("\n")
    assert heading == "\n\n## Reference omissions\n"
    assert [each["sessionId"] for each in json.loads(array)] == [session_id(name)]


@hostile_texts
def test_a_message_takes_nothing_of_a_transcript_but_its_context(
    sidecar: Sidecar, name: str
) -> None:
    mention = sidecar.call("formatMention", {"sessionId": session_id(name), "label": "it"})
    answer = sidecar.call("preStep", requests.pre_step(requests.person(f"see {mention['uri']}!")))
    before, context = answer["decision"]["messages"]
    assert before == requests.person(f"see @{session_id(name)}!")
    sources, behind = framed(context)
    assert behind == ""
    assert sources == [source(session_id(name), TEXTS[name], session_id(name))]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sidecar, Path]]:
    """A sidecar and its root, to which sessions may be added."""
    root = tmp_path_factory.mktemp("own")
    with Sidecar(roots=[root]) as spawned:
        yield spawned, root


PIECES = st.one_of(
    st.sampled_from(["<", ">", "/", "referenced-sessions", '"', "\\", "\n", "\\u003c", "]", "}"]),
    st.sampled_from(list(TEXTS.values())),
    st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]),
    st.text(max_size=5),
)
HOSTILE = st.lists(PIECES, min_size=1, max_size=8).map("".join)
"""ECMAScript text: two halves of a character beside each other are that character."""
NUMBERS = itertools.count()


@settings(max_examples=60)
@given(text=HOSTILE, label=HOSTILE)
def test_any_text_stays_in_its_place(text: str, label: str, own: tuple[Sidecar, Path]) -> None:
    assume(text and not SPELLED.search(text))
    text, label = (json.loads(encode(each)) for each in (text, label))
    id_ = f"{next(NUMBERS)} {text[:20]}"
    sidecar, root = own
    logs.write_log(root, id_, rows(text), cwd=f"/w/{text}")
    assert framed(prepare(sidecar, id_, label)) == ([source(id_, text, label)], "")
    (candidate,) = of_id(sidecar, id_)
    check_display(candidate, text)


# What people see


def of_id(sidecar: Sidecar, id_: str) -> list[dict[str, Any]]:
    listed = sidecar.call("listCandidates", {"agent": requests.AGENT, "query": id_})
    return [each for each in listed["candidates"] if each["sessionId"] == id_]


def meant(shown: str) -> str:
    """What a text for people spells."""
    joined = SPELLED.sub(lambda found: chr(int(found[1], 16)), shown)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def check_display(candidate: dict[str, Any], text: str) -> None:
    assert (candidate["label"], candidate["cwd"]) == (text, f"/w/{text}")
    shown = candidate["display"]
    assert deceiving(shown["label"] + shown["cwd"]) == []
    assert (meant(shown["label"]), meant(shown["cwd"])) == (text, f"/w/{text}")


@hostile_texts
def test_display_and_preview_are_safe_and_the_rest_is_exact(sidecar: Sidecar, name: str) -> None:
    (candidate,) = of_id(sidecar, session_id(name))
    check_display(candidate, TEXTS[name])
    assert deceiving(candidate["preview"]) == []
    meant_by = sidecar.call("parseText", {"text": candidate["mention"]})
    (reference,) = meant_by["references"]
    assert (reference["sessionId"], reference["label"]) == (session_id(name), TEXTS[name])


@hostile_texts
def test_the_lines_of_a_transcript_are_safe(sidecar: Sidecar, name: str) -> None:
    context = prepare(sidecar, session_id(name), TEXTS[name])
    described = sidecar.call("describeTranscript", {"messages": [context]})
    ((reference,),) = (recall["references"] for recall in described["recalls"])
    assert reference["label"] == TEXTS[name]
    assert deceiving(reference["line"]) == []


@hostile_texts
def test_errors_are_safe(sidecar: Sidecar, name: str) -> None:
    text = TEXTS[name]
    error = sidecar.fails("prepare", requests.prepare(f"bad {text}"))
    assert (error.data["sessionId"], deceiving(error.message)) == (f"bad {text}", [])
    assert sidecar.fails("prepare", requests.prepare(text)).message.isprintable()
    malformed = f"@[{without(text, '[]')}](dsh-session:zz)"
    assert deceiving(sidecar.fails("parseText", {"text": malformed}).message) == []
    assert deceiving(sidecar.fails(text).message) == []


# At a shell


def outputs(done: subprocess.CompletedProcess[bytes], allowed: str) -> str:
    """Both streams of a command, which hold no control but these."""
    both = (done.stdout + done.stderr).decode()
    assert deceiving(both, allowed) == []
    return both


@pytest.mark.parametrize("command", ["list", "doctor"])
def test_lists_are_safe_in_a_pipe(root: Path, tmp_path: Path, command: str) -> None:
    flags = ("--limit", "1000") if command == "list" else ()
    done = shell.run(command, "--root", root, *flags, home=tmp_path)
    shown = outputs(done, "\n\t" if command == "list" else "\n")
    wanted = {f"bad {text}" for text in TEXTS.values()}
    if command == "list":
        wanted |= {session_id(name) for name in TEXTS}
    assert {id_ for id_ in wanted if id_ not in meant(shown)} == set()


@pytest.mark.parametrize("command", ["list", "doctor"])
def test_json_for_programs_is_exact_and_safe(root: Path, tmp_path: Path, command: str) -> None:
    flags = ("--limit", "1000") if command == "list" else ()
    done = shell.run(command, "--json", "--root", root, *flags, home=tmp_path)
    found = json.loads(outputs(done, "\n"))
    if command == "list":
        by_id = {each["sessionId"]: each for each in found["candidates"]}
        for name, text in TEXTS.items():
            assert by_id[session_id(name)]["label"] == text
    else:
        ids = {each["sessionId"] for each in found["problems"]}
        assert ids == {f"bad {text}" for text in TEXTS.values()}


def shown_on_a_terminal(home: Path, *flags: shell.Argument) -> str:
    """On a terminal that knows no control sequences: all of them would be the transcript's."""
    _, shown = shell.on_terminal(*flags, home=home, columns=200, env={"TERM": "dumb"})
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_no_control_of_a_log(root: Path, tmp_path: Path) -> None:
    for flags in (("list", "--limit", "1000"), ("doctor",)):
        shown = shown_on_a_terminal(tmp_path, *flags, "--root", root)
        assert len(shown) > 1000
        assert deceiving(shown, "\n") == []


def test_a_terminal_with_colours_gets_no_other_sequences_than_for_good_logs(
    root: Path, tmp_path: Path
) -> None:
    good = tmp_path / "good"
    logs.write_log(good, "a", rows("text"), cwd="/w/text")
    logs.write_log(good, "bad", [b"{"], cwd="/bad/text")
    sequence = re.compile(rb"\x1b(?:\[[0-9;?]*[a-zA-Z]|.)")
    for command in ("list", "doctor"):
        ours, theirs = (
            set(sequence.findall(shell.on_terminal(command, "--root", each, home=tmp_path)[1]))
            for each in (good, root)
        )
        assert theirs <= ours | {b"\x1b[1A"}  # a bar with more steps is drawn more often


@hostile_texts
def test_show_is_safe_on_a_terminal_and_exact_in_json(
    root: Path, tmp_path: Path, sidecar: Sidecar, name: str
) -> None:
    flags = ("show", "--root", root)
    # a URI can stand in arguments, where a NUL or half a character can't
    given_id = sidecar.call("formatMention", {"sessionId": session_id(name)})["uri"]
    assert deceiving(shown_on_a_terminal(tmp_path, *flags, given_id), "\n") == []
    done = shell.run(*flags, "--json", given_id, home=tmp_path)
    context = json.loads(outputs(done, "\n"))["additionalContext"]
    assert framed(context)[0] == [source(session_id(name), TEXTS[name], session_id(name))]
    piped = shell.run(*flags, given_id, home=tmp_path)
    assert deceiving(piped.stderr.decode(), "\n") == []
    assert piped.stdout.decode() == context["content"][0]["text"]
    assert b"\x1b" not in piped.stdout


def test_call_is_safe_and_exact(root: Path, tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        params = requests.prepare(session_id(name))
        done = shell.run("call", "--root", root, "prepare", encode(params).decode(), home=tmp_path)
        context = json.loads(outputs(done, "\n"))["additionalContext"]
        assert framed(context)[0] == [source(session_id(name), text, session_id(name))]
        refused = requests.prepare(f"bad {text}")
        done = shell.run("call", "--root", root, "prepare", encode(refused).decode(), home=tmp_path)
        assert done.returncode == 1
        assert deceiving((done.stdout + done.stderr).decode(), "\n") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "x", "\x1b[31m\u202e"),
        ("show", "\x1b[31m\u202e"),
        ("\x1b[31m\u202e",),
        ("list", "--limit", "\x1b[31m\u202e"),
        ("list", "--log-level", "\x1b[31m\u202e"),
        ("list", "--log-file", "\x1b[31m\u202e/x"),
        ("call", "status", "\x1b[31m\u202e"),
        ("call", "\x1b[31m\u202e"),
    ],
)
def test_what_was_pasted_comes_back_safe(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = shell.run(*arguments, home=tmp_path)
    assert done.returncode in (1, 2)
    assert outputs(done, "\n") != ""


# In an editor


@hostile_texts
def test_an_editor_shows_nothing_that_deceives(editor: Editor, sidecar: Sidecar, name: str) -> None:
    uri = sidecar.call("formatMention", {"sessionId": session_id(name)})["uri"]
    editor.write(f"{uri}\n@")
    list_ = editor.complete(1, 1)["items"]
    mentions = {}
    for item in list_:
        details = item["labelDetails"]
        shown = (item["label"], details["description"], details.get("detail") or "")
        assert deceiving("".join(shown)) == []
        mentions[item["data"]["sessionId"]] = item
    item = mentions[session_id(name)]
    (reference,) = sidecar.call("parseText", {"text": item["textEdit"]["newText"]})["references"]
    assert reference["sessionId"] == session_id(name)
    resolved = editor.call("completionItem/resolve", item)
    hover = editor.call("textDocument/hover", editor.at(0, 3))
    for value in (resolved["documentation"]["value"], hover["contents"]["value"]):
        assert deceiving(value, "\n") == []
        assert re.search(r"[<>]", value) is None


@hostile_texts
def test_hints_actions_and_diagnostics_are_safe(
    editor: Editor, sidecar: Sidecar, name: str
) -> None:
    text = TEXTS[name]
    stale = sidecar.call("formatMention", {"sessionId": session_id(name), "label": "old"})
    bad = sidecar.call("formatMention", {"sessionId": f"bad {text}", "label": "bad"})
    malformed = f"@[{without(' '.join(text.split()), '[]')}](dsh-session:zz)"
    editor.write(f"{stale['mention']} {bad['mention']} {malformed}")
    found = editor.asked("textDocument/publishDiagnostics")["params"]["diagnostics"]
    while len(found) != 2:  # of a text before
        found = editor.asked("textDocument/publishDiagnostics")["params"]["diagnostics"]
    assert deceiving("".join(each["message"] for each in found)) == []
    places = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 9999}}
    whole = {"textDocument": {"uri": URI}, "range": places, "context": {"diagnostics": []}}
    hints = [each["label"] for each in editor.call("textDocument/inlayHint", whole)]
    titles = [each["title"] for each in editor.call("textDocument/codeAction", whole)]
    assert len(hints) == 2
    assert any(title.startswith("Refresh the label: ") for title in titles)
    assert any(title.startswith("Pick again: ") for title in titles)
    assert deceiving("".join(hints + titles)) == []


# In the log


def test_the_log_has_a_line_for_each_event_and_nothing_else(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        usable = without(text, "\x00/").encode(errors="ignore").decode()[:60]
        root, log = tmp_path / "roots" / usable, tmp_path / "log.txt"
        for zstd in (True, False):
            logs.write_log(root, session_id(name), rows(text), zstd=zstd)
        missing = str(root) + "-missing"
        flags = ("--log-level", "debug", "--log-file", str(log))
        with Sidecar(*flags, roots=[root, missing]) as own:
            own.call("listCandidates", {"agent": requests.AGENT})
            own.fails("prepare", requests.prepare(session_id(name)))
        told = log.read_text()
        assert deceiving(told, "\n") == []
        assert all(re.match(r"\d{4}-\d\d-\d\d ", line) for line in told.splitlines())
        assert meant(missing) in meant(told)
        log.unlink()
