"""What was said in sessions goes into answers that were asked for, and nowhere else.

Every text in these sessions holds a word of its own kind. Then all that the program can do is done,
with good logs, damaged ones, a bad host and faults of ours, and what is left is searched for them.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from support import logs, requests, shell
from support.editor import URI, Editor
from support.live import INITIALIZE, header
from support.sidecar import Sidecar, clean_environment

FLAGS = ("--log-level", "debug")

SAID = re.compile(rb"said-[a-z-]+-word")
"""In a text of a conversation, or a part of it: never to be found where nobody asked for it."""
CALLED = re.compile(rb"called-[a-z-]+-word")
"""In a title, which lists and the index hold: only not in logs and errors."""


def said(what: str) -> str:
    return f"said-{what}-word"


def called(what: str) -> str:
    return f"called-{what}-word"


def talk() -> list[logs.Row]:
    """Words everywhere that a log has any."""
    asked = logs.assistant(said("answer"))
    asked["data"]["message"]["content"] += [
        {
            "type": "tool-call",
            "id": said("call-id"),
            "name": said("tool"),
            "arguments": said("argument"),
        },
        {"type": "reasoning", "text": said("reasoning")},
        {"type": "image", "data": said("image")},
    ]
    source = {"kind": "tool", "callId": said("call-id")}
    content = [{"type": "text", "text": said("result")}]
    return [
        logs.user(said("prompt")),
        asked,
        {
            "type": "tool/result",
            "data": {"message": {"source": source, "content": content}},
            "surfaceOp": "append",
        },
        logs.checkpoint(said("summary")),
        logs.user(said("plugin"), {"kind": "plugin", "plugin": said("plugin-name")}),
        {"type": "todo/write", "data": {"todo": said("todo")}},
        {"type": "step/start", "data": {"turn": 1, "step": 1, "text": said("step")}},
        logs.title(called("title")),
    ]


def odd(**more: Any) -> dict[str, Any]:
    return {**logs.user(said("odd")), **more}


def bad_content(content: Any) -> dict[str, Any]:
    row = logs.user("")
    row["data"]["content"] = content
    return row


DAMAGES: dict[str, list[logs.Row]] = {
    "no-json": [b'{"type":"user/message","seq":8,"said-cut-word'],
    "no-object": [b'"said-string-word"'],
    "no-utf8": [b'{"type":"user/message","said-bytes-word":"\xff"}'],
    "odd-seq": [odd(seq=said("seq"))],
    "odd-type": [odd(type=[said("type")])],
    "odd-operation": [odd(surfaceOp=said("operation"))],
    "odd-range": [odd(surfaceOp={"op": "replace", "start": said("start"), "end": 0})],
    "odd-citation": [odd(sourceEventSeqs=[said("citation")])],
    "odd-content": [bad_content(said("content"))],
    "odd-block": [bad_content([said("block")])],
    "odd-text": [bad_content([{"type": "text", "text": [said("text")]}])],
    "odd-source": [logs.user(said("source"), {"kind": [said("kind")]})],
    "odd-chunks": [{"type": "text-chunks", "seq0": 8, "data": {"texts": said("chunks")}}],
    "too-deep": [b'{"type":"x","seq":8,"data":' + b"[" * 900 + b'"said-deep-word"'],
    "unknown-event": [{"type": said("event-type"), "data": {said("key"): said("value")}}],
    "odd-title": [logs.title([said("no-title")])],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The talk, well and with each damage, and logs that are damaged as files."""
    made = tmp_path_factory.mktemp("words")
    logs.write_log(made, "good", talk(), cwd="/w")
    for name, rows in DAMAGES.items():
        logs.write_log(made, name, [*talk(), *rows], cwd="/w", zstd=False)
    for at in (0.3, 0.6, 0.9):
        path = logs.write_log(made, f"flipped-{at}", talk(), cwd="/w", batch=2)
        data = bytearray(path.read_bytes())
        data[int(len(data) * at)] ^= 0x55
        path.write_bytes(data)
    for name, head in {
        "odd-version": {"version": said("version")},
        "odd-created": {"createdAt": said("created")},
        "odd-cwd": {"cwd": [said("cwd")]},
        "odd-parent": {"parentSession": [said("parent")], "origin": [said("origin")]},
    }.items():
        path = logs.write_log(made, name, talk(), cwd="/w", zstd=False)
        lines = logs.encode({**logs.header(name, cwd="/w"), **head}, talk(), zstd=False)
        path.write_bytes(lines)
    path = logs.write_log(made, "no-header", talk(), cwd="/w", zstd=False)
    path.write_bytes(b'{"type":"session","said-header-word\n' + path.read_bytes())
    for zstd in (True, False):
        logs.write_log(made, "twice", talk(), cwd="/w", zstd=zstd)
    return made


IDS = ["good", *DAMAGES, "flipped-0.3", "flipped-0.6", "flipped-0.9", "odd-version", "odd-created"]
IDS += ["odd-cwd", "odd-parent", "no-header", "twice", "missing"]


class Place:
    """Where one run of the program may leave something: its log, index, temporary files, home."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.log = base / "log.txt"
        self.cache = base / "cache"
        self.temporary = base / "tmp"
        self.temporary.mkdir()
        self.env = {
            "TMPDIR": str(self.temporary),
            "SESSIONREF_CACHE_DIR": str(self.cache),
            "SESSIONREF_LOG_LEVEL": "debug",
        }

    def check(self, *streams: bytes) -> None:
        """Nothing of a transcript is in the log and the streams, and nothing was said in a file."""
        logged = self.log.read_bytes() if self.log.exists() else b""
        for told in (logged, *streams):
            assert SAID.findall(told) == []
            assert CALLED.findall(told) == []
        for path in self.base.rglob("*"):
            if path.is_file():
                assert SAID.findall(path.read_bytes()) == [], path
        assert list(self.temporary.iterdir()) == []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def check_errors(value: object) -> None:
    """No error anywhere in an answer quotes anybody."""
    match value:
        case {"code": int(), "message": str(message)}:
            told = json.dumps([message, value.get("data")]).encode()
            assert SAID.findall(told) + CALLED.findall(told) == []
        case dict():
            for each in value.values():
                check_errors(each)
        case list():
            for each in value:
                check_errors(each)


def ask_everything(sidecar: Sidecar, prefix: str = "") -> list[dict[str, Any]]:
    """Every method a host has, about every session, in every way that makes a difference."""
    answers: list[dict[str, Any]] = []

    def ask(method: str, params: object) -> None:
        answers.append(sidecar.answer(sidecar.request(prefix + method, params), 60))

    for query in ("", "word", "nothing"):
        ask("listCandidates", {"agent": requests.AGENT, "query": query, "limit": 1000})
    for id_ in IDS:
        mention = f"@[{id_}](missing) @{id_}"
        for config in ({}, {"salvage": True}, {"maxReferenceBytes": 1, "omissions": True}):
            content = [{"type": "text", "text": said("host")}]
            ask("prepare", requests.prepare(id_, config=config, content=content))
        ask("preview", {"agent": requests.AGENT, "references": [{"sessionId": id_}]})
        ask("readSnapshot", {"agent": requests.AGENT, "sessionId": id_})
        ask("formatMention", {"sessionId": id_})
        uri = answers[-1]["result"]["uri"]
        for policy in ("native", "never-block", {"placement": "after", "onFailure": "skip"}):
            message = requests.person(f"{said('host')} {mention} {uri}")
            ask("preStep", requests.pre_step(message, policy=policy))
            if "result" in answers[-1]:
                messages = answers[-1]["result"]["decision"]["messages"]
                ask("describeTranscript", {"messages": messages})
    ask("parseText", {"text": said("host")})
    ask("prepare", {"agent": said("host"), "references": said("host")})
    ask("preStep", {"agent": requests.AGENT, "decision": {"kind": said("host")}})
    ask("status", {})
    return answers


def test_a_host_that_asks_everything(root: Path, place: Place) -> None:
    with Sidecar(*FLAGS, roots=[root], cache=place.cache, env=place.env) as sidecar:
        answers = ask_everything(sidecar)
        sidecar.close_stdin()
        assert sidecar.wait(60) == 0
        place.check(sidecar.stderr)
    check_errors(answers)
    failures = [each for each in answers if "error" in each]
    assert len(failures) > 50
    assert SAID.search(json.dumps(answers).encode())
    index = b"".join(path.read_bytes() for path in place.cache.iterdir())
    assert set(CALLED.findall(index)) == {called("title").encode()}


def test_a_log_file_instead_of_stderr(root: Path, place: Place) -> None:
    flags = ("--log-file", str(place.log))
    with Sidecar(*flags, roots=[root, place.base / "no"], cache=place.cache, env=place.env) as it:
        check_errors(ask_everything(it))
        it.close_stdin()
        assert it.wait(60) == 0
        place.check(it.stderr)
    assert "There is no folder of sessions" in place.log.read_text()


def test_a_host_with_sessions_of_its_own(root: Path, place: Place) -> None:
    """It answers well, badly, with damage and with errors, all full of words."""
    head = header("live")
    events = logs.numbered(talk())
    pages: list[Any] = [
        {"header": head, "events": events},
        {"header": head, "events": [*events, {**odd(surfaceOp=said("operation")), "seq": 9}]},
        {"header": {**head, "id": said("id")}, "events": events},
        {"header": said("header"), "events": said("events")},
        {"header": head, "events": [said("event")]},
        said("page"),
    ]
    flags = ("--log-file", str(place.log))
    with Sidecar(*flags, roots=[root], cache=place.cache, env=place.env) as sidecar:
        sidecar.call("initialize", INITIALIZE)
        for page in pages:
            asked_for = sidecar.request("prepare", requests.prepare("live"))
            sidecar.respond(sidecar.asked("host/readLiveSession")["id"], page)
            check_errors(sidecar.answer(asked_for))
        asked_for = sidecar.request("prepare", requests.prepare("live"))
        question = sidecar.asked("host/readLiveSession")["id"]
        error = {"code": 1, "message": said("error"), "data": said("data")}
        sidecar.send({"jsonrpc": "2.0", "id": question, "error": error})
        check_errors(sidecar.answer(asked_for))
        asked_for = sidecar.request("listCandidates", {"agent": requests.AGENT})
        question = sidecar.asked("host/listLiveSessions")["id"]
        sidecar.send({"jsonrpc": "2.0", "id": question, "error": error})
        check_errors(sidecar.answer(asked_for))
        sidecar.close_stdin()
        assert sidecar.wait(60) == 0
        place.check(sidecar.stderr)


def test_an_editor(root: Path, place: Place) -> None:
    with Editor(root, *FLAGS, "--log-file", str(place.log), env=place.env) as editor:
        editor.open(f"{said('document')} @")
        items = editor.complete(0, len(said("document")) + 2)["items"]
        assert len(items) > 10
        for item in items:
            editor.call("completionItem/resolve", item)
        for id_ in IDS:
            uri = editor.call("formatMention", {"sessionId": id_})["uri"]
            editor.write(f"{said('document')} {uri}")
            where = editor.at(0, len(said("document")) + 3)
            check_errors(editor.call("textDocument/hover", where))
            everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
            params = {"textDocument": {"uri": URI}, "range": everywhere}
            editor.call("textDocument/inlayHint", params)
            editor.call("textDocument/codeAction", {**params, "context": {"diagnostics": []}})
            quotable = editor.answer(editor.request("prepare", requests.prepare(id_)))
            for command in ("sessionref.copyReference", "sessionref.preview"):
                asked_for = editor.request(
                    "workspace/executeCommand", {"command": command, "arguments": [id_]}
                )
                if command.endswith("preview") and "result" in quotable:
                    shown = editor.asked("window/showDocument")
                    editor.respond(shown["id"], {"success": True})
                check_errors(editor.answer(asked_for))
        editor.fails("textDocument/hover", {"textDocument": said("document")})
        editor.close_stdin()
        assert editor.wait(60) == 0
        check_errors(editor.unclaimed())
        place.check(editor.stderr)


@pytest.mark.parametrize("logged_to", ["stderr", "file"])
def test_commands(root: Path, place: Place, logged_to: str) -> None:
    flags = ["--root", root, *FLAGS]
    if logged_to == "file":
        flags += ["--log-file", place.log]
    commands: list[list[shell.Argument]] = [["list"], ["list", "--json", "word"], ["doctor"]]
    commands += [["doctor", "--json"], ["call", "listCandidates", '{"agent":{"id":"me"}}']]
    for id_ in IDS:
        commands.append(["show", id_])
    for id_ in ("good", "odd-operation", "missing"):
        commands += [["show", "--json", "--salvage", id_]]
        commands += [["call", "prepare", json.dumps(requests.prepare(id_))]]
    for command in commands:
        done = shell.run(*command, *flags, home=place.base, env=place.env)
        assert done.returncode in (0, 1), done
        place.check(done.stderr)
        if command[0] == "doctor":
            assert SAID.findall(done.stdout) == []
        if done.returncode == 1 and command[0] in ("call", "show"):
            assert SAID.findall(done.stdout) == []


# Faults of ours


FAULTY = """
import sys
from sessionref import resolver
from sessionref.sessions import digest, digests
def fail_with_all(nodes, size):
    raise ValueError("".join(node.text for node in nodes))
def fail_while_failing(root, sought, *rest):
    data = open(sought.path, "rb").read()
    try:
        raise KeyError(data)
    except KeyError as error:
        raise RuntimeError("-".join(("said", "message", "word")), data) from error
resolver.is_larger = fail_with_all
digests.look = fail_while_failing
from sessionref.__main__ import main
sys.exit(main())
"""


def faulty(*arguments: str) -> list[str]:
    return [sys.executable, "-c", FAULTY, *arguments]


def test_a_fault_of_ours_is_told_without_what_it_says(root: Path, place: Place) -> None:
    flags = ("--log-file", str(place.log))
    with Sidecar(
        *flags, roots=[root], cache=place.cache, env=place.env, command=faulty()
    ) as sidecar:
        answers = ask_everything(sidecar)
        sidecar.close_stdin()
        assert sidecar.wait(60) == 0
        place.check(sidecar.stderr)
    check_errors(answers)
    assert -32603 in {each["error"]["code"] for each in answers if "error" in each}
    told = place.log.read_text()
    assert (
        "Internal error while answering PrepareParams\nTraceback (most recent call last):" in told
    )
    place = r'  File "<string>", line \d+, in fail_with_all\n(    .+\n)*'  # newer Pythons quote -c
    assert re.search(place + r"builtins.ValueError\n", told)
    assert "builtins.KeyError\nwhich led to\n" in told


@pytest.mark.parametrize("command", [("show", "good"), ("doctor",), ("list",)])
def test_a_command_tells_no_more(root: Path, place: Place, command: tuple[str, ...]) -> None:
    program, *arguments = faulty(*command, "--root", str(root), *FLAGS)
    done = shell.run(*arguments, home=place.base, env=place.env, program=program)
    place.check(done.stderr)
    if command[0] == "show":
        assert done.returncode == 1
        assert b"builtins.ValueError\n" in done.stderr


# Other processes


WATCHED = """
import json, os, subprocess, sys
begin = subprocess.Popen.__init__
def begin_and_tell(self, *arguments, **more):
    begin(self, *arguments, **more)
    line = b""
    while not line and self.poll() is None:  # empty until it has become the other program
        with open(f"/proc/{self.pid}/cmdline", "rb") as file:
            line = file.read()
    with open(os.environ["TOLD"], "ab") as told:
        told.write(line + b"\\n")
subprocess.Popen.__init__ = begin_and_tell
from sessionref.sessions import child, lookers, unpacker
child._cores = lambda: 2
unpacker.LARGE_BYTES = lookers.MANY_BYTES = 0
from sessionref.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where the program below puts down the arguments of each process that it begins."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("this system has no /proc")
    return tmp_path / "told"


def test_other_processes_are_told_nothing_in_their_arguments(
    root: Path, place: Place, told: Path
) -> None:
    env = {**place.env, "TOLD": str(told)}
    command = [sys.executable, "-c", WATCHED]
    with Sidecar(roots=[root], cache=place.cache, env=env, command=command) as sidecar:
        ask_everything(sidecar)
        sidecar.close_stdin()
        assert sidecar.wait(60) == 0
        place.check(sidecar.stderr)
    began = {
        (program == sys.executable.encode(), *rest)
        for program, *rest in (line.split(b"\0") for line in told.read_bytes().splitlines() if line)
    }
    assert began == {
        (True, b"-P", b"-m", b"sessionref.sessions.unpacker", b""),
        (True, b"-P", b"-m", b"sessionref.sessions.lookers", b""),
    }


def test_call_tells_its_sidecar_the_params_in_a_pipe(root: Path, place: Place, told: Path) -> None:
    params = json.dumps(requests.prepare("good", content=[{"type": "text", "text": said("host")}]))
    done = shell.run(
        *("-c", WATCHED, "call", "--root", root, "prepare", params),
        home=place.base,
        env={**place.env, "TOLD": str(told)},
        program=sys.executable,
    )
    assert done.returncode == 0
    assert b"\0sessionref\0serve\0" in told.read_bytes()
    assert SAID.findall(told.read_bytes()) == []


def test_the_environment_has_no_words_of_its_own() -> None:
    """What the tests above search is not there before."""
    assert SAID.findall(json.dumps(clean_environment("/")).encode() + os.fsencode(FAULTY)) == []
