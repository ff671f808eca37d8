"""`sessionref expand`: a prompt in, it and its snapshots out, or what is wrong and where."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sessionref.config import LIMITS
from sessionref.reference.expansion import expanded, message_of
from sessionref.reference.snapshot import PREAMBLE
from sessionref_protocol.mention import encode_uri, format_mention
from support import answers, logs, shell
from support.requests import person, pre_step
from support.roots import SidecarAt
from support.shapes import check_shape

FIX = format_mention("fix", "Fix login")
SHOP = format_mention("shop", "The shop")
GONE = format_mention("gone")
MALFORMED = "@[x](dsh-session:IiJ)"
PROMPT = f"Compare {FIX}\nwith {SHOP}, please.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    logs.write_log(root, "fix", [logs.user("the cookie <b>"), logs.assistant("Lax")], cwd="/w")
    quoting = logs.user(f"see {format_mention('fix', 'Other')} and {MALFORMED}")
    logs.write_log(root, "shop", [quoting], cwd="/w")
    logs.write_log(root, "silent", cwd="/w")
    logs.write_log(root, "s4")
    return root


def expand(
    root: Path, prompt: str | bytes, *words: shell.Argument
) -> subprocess.CompletedProcess[bytes]:
    given = prompt if isinstance(prompt, bytes) else prompt.encode()
    return shell.run("expand", "--root", root, *words, home=root.parent, given=given)


def stepped(sidecar_at: SidecarAt, root: Path, text: str, **more: Any) -> list[str]:
    """The texts of the messages that a host gets for this one."""
    result = sidecar_at(root).call("preStep", pre_step(person(text), **more))
    return [message["content"][0]["text"] for message in result["decision"]["messages"]]


def test_the_text_is_what_a_host_gets(root: Path, sidecar_at: SidecarAt) -> None:
    done = expand(root, PROMPT)
    message, context = stepped(sidecar_at, root, PROMPT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"{message}\n{context}\n"
    assert message == "Compare @Fix login\nwith @The shop, please.\n"
    quoted = json.loads(answers.snapshot_json(context))
    assert [source["sessionId"] for source in quoted] == ["fix", "shop"]


def test_snapshots_may_precede_the_message(root: Path, sidecar_at: SidecarAt) -> None:
    context, message = stepped(sidecar_at, root, PROMPT, policy="never-block")
    for words in (["--placement", "before"], ["--policy", "never-block"]):
        assert expand(root, PROMPT, *words).stdout.decode() == f"{context}\n\n{message}"
    after = expand(root, PROMPT, "--policy", "never-block", "--placement", "after")
    assert after.stdout.decode() == f"{message}\n{context}\n"


@pytest.mark.parametrize(
    ("message", "gap"),
    [("m", "\n\n"), ("m\n", "\n"), ("m\n\n", ""), ("m\n\n\n", ""), ("\n", "\n"), ("m\r", "\n\n")],
)
def test_an_empty_line_stands_between_them(message: str, gap: str) -> None:
    assert expanded(message, "c", "after", "\n") == f"{message}{gap}c\n"
    assert expanded(message, "c", "before", "\n") == f"c\n\n{message}"


@pytest.mark.parametrize(
    "prompt",
    [
        b"",
        b"no mention",
        b"\xef\xbb\xbfwith a mark\r\nand\rodd\nends\n\n ",
        "dsh-session: alone, @[x] and \u2028 \x00".encode(),
    ],
)
def test_a_prompt_without_a_mention_comes_out_as_it_went_in(prompt: bytes, root: Path) -> None:
    done = expand(root, prompt)
    assert (done.returncode, done.stdout, done.stderr) == (0, prompt, b"")


def test_lines_end_as_those_of_the_prompt_do(root: Path) -> None:
    done = expand(root, f"one\r\n{FIX}\r\n")
    text = done.stdout.decode()
    assert text.startswith("one\r\n@Fix login\r\n\r\n## Referenced sessions\r\n\r\n")
    assert text.endswith("\r\n</referenced-sessions>\r\n")
    assert text.count("\n") == text.count("\r\n")
    unix = expand(root, f"one\n{FIX}\n").stdout.decode()
    assert text.replace("\r\n", "\n") == unix


@pytest.mark.parametrize("placement", ["after", "before"])
def test_what_was_expanded_is_not_expanded_again(placement: str, root: Path) -> None:
    """Not even what stands in a snapshot, where the session `shop` quotes two mentions."""
    for end in ("\n", "\r\n"):
        once = expand(root, f"a{end}{SHOP}{end}", "--placement", placement).stdout
        again = expand(root, once, "--placement", placement)
        assert (again.returncode, again.stdout) == (0, once)


def test_a_new_snapshot_takes_the_place_of_an_older_one(root: Path) -> None:
    """An editor leaves the mentions when it expands a message."""
    older = f"See {FIX}\n\n{PREAMBLE}\n\n<referenced-sessions>\n[]\n</referenced-sessions>\n"
    assert expand(root, older).stdout == expand(root, f"See {FIX}\n").stdout
    assert message_of(older) == f"See {FIX}\n\n"
    failed = expand(root, older.replace(FIX, GONE), "--on-failure", "skip")
    assert failed.stdout.decode() == older.replace(FIX, "@gone")


@pytest.mark.parametrize(
    ("prompt", "words", "said"),
    [
        (f"a\nsay {MALFORMED} no\n", [], f"line 2, column 5: Malformed mention: {MALFORMED}"),
        (
            f"新 🎉 {MALFORMED}",
            [],
            f"line 1, column 5: Malformed mention: {MALFORMED}",
        ),
        (
            f"{FIX}\r\n\r\n{GONE}",
            [],
            f"line 3, column 1: {GONE}: The session could not be read: there is no such session",
        ),
        (
            f"{FIX} {FIX}",
            ["--agent", "fix"],
            f"line 1, column 1: {FIX}: A session cannot refer to itself.",
        ),
        (
            f"{FIX} {SHOP}\n{FIX} {format_mention('silent')} {format_mention('s4')}",
            [],
            f"line 2, column {len(FIX) + len(format_mention('silent')) + 3}: "
            f"{format_mention('s4')}: 4 sessions are referred to, and at most 3 may be.",
        ),
        (
            f"{FIX} {SHOP}",
            ["--max-references", "1"],
            f"line 1, column {len(FIX) + 2}: {SHOP}: "
            "2 sessions are referred to, and at most 1 may be.",
        ),
        (
            f"\n {encode_uri('fix')}.",
            ["--max-reference-bytes", "20"],
            f"line 2, column 2: {encode_uri('fix')}: "
            "The session does not fit into 20 bytes, even with every text emptied.",
        ),
        (
            f"{FIX}",
            ["--only-workspace", "/elsewhere"],
            f"line 1, column 1: {FIX}: The session could not be read: there is no such session",
        ),
    ],
)
def test_a_bad_mention_is_told_with_its_place(
    prompt: str, words: list[str], said: str, root: Path
) -> None:
    done = expand(root, prompt, *words)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"sessionref expand: {said}\n"


@pytest.mark.parametrize(
    ("on_failure", "text"),
    [("passthrough", f"{FIX} {GONE}"), ("skip", "@Fix login @gone")],
)
def test_a_failure_need_not_be_the_end_of_it(on_failure: str, text: str, root: Path) -> None:
    done = expand(root, f"{FIX} {GONE}", "--on-failure", on_failure)
    assert done.returncode == 0
    assert message_of(done.stdout.decode()).rstrip("\n") == text
    assert (b"## Referenced sessions" in done.stdout) == (on_failure == "skip")
    assert done.stderr.decode() == (
        f"sessionref expand: line 1, column {len(FIX) + 2}: {GONE}: "
        "The session could not be read: there is no such session\n"
    )


def test_every_failure_is_told_once(root: Path) -> None:
    other = format_mention("none")
    for on_failure in ("passthrough", "skip"):
        done = expand(root, f"{GONE} {other}", "--on-failure", on_failure)
        first, second = done.stderr.decode().splitlines()
        assert first.startswith(f"sessionref expand: line 1, column 1: {GONE}: ")
        assert second.startswith(f"sessionref expand: line 1, column {len(GONE) + 2}: {other}: ")


def test_json_is_what_a_host_gets(root: Path, sidecar_at: SidecarAt) -> None:
    code, result = shell.report(
        "expand",
        "--root",
        root,
        home=root.parent,
        given=f"{FIX} {format_mention('silent')}".encode(),
    )
    check_shape("PreStepResult", result)
    message, context = result["decision"]["messages"]
    assert code == 0
    assert message["content"] == [{"type": "text", "text": "@Fix login @silent"}]
    assert [each["status"] for each in result["outcomes"][0]["references"]] == ["prepared", "empty"]
    assert result["outcomes"][0]["contextId"] == context["id"]
    answer = sidecar_at(root).call("preStep", pre_step(person(f"{FIX} {format_mention('silent')}")))
    assert answers.context(context) == answers.context(answer["decision"]["messages"][1])


def test_an_error_in_json_is_what_a_host_gets(root: Path, sidecar_at: SidecarAt) -> None:
    done = expand(root, f"a {MALFORMED}", "--json")
    error = json.loads(done.stdout)
    check_shape("ErrorObject", error)
    refusal = sidecar_at(root).fails("preStep", pre_step(person(f"a {MALFORMED}")))
    assert done.returncode == 1
    assert error == {"code": refusal.code, "message": refusal.message, "data": refusal.data}
    assert b"line 1, column 3" in done.stderr


def test_input_that_is_no_text_is_refused_with_its_place(root: Path) -> None:
    done = expand(root, "one\nzwölf ".encode() + b"\xff\xfe")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == (
        b"sessionref expand: the message is not UTF-8: line 2, column 7 has the byte 0xff\n"
    )
    done = expand(root, b"\xed\xa0\xbd", "--json")
    assert json.loads(done.stdout)["code"] == -32700


def test_input_without_an_end_is_not_read_to_its_end(root: Path, tmp_path: Path) -> None:
    """`yes` writes until nobody reads any more."""
    done = shell.run(
        *("-c", 'yes | "$0" expand --root "$1"', shell.PROGRAM, root), program="sh", home=tmp_path
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        f"sessionref expand: the message has more than {LIMITS.max_line_bytes} bytes\n"
    )


def test_no_input_at_all(root: Path, tmp_path: Path) -> None:
    done = shell.run(
        *("-c", '"$0" expand --root "$1" <&-', shell.PROGRAM, root), program="sh", home=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_prompt_may_be_written_on_a_terminal(root: Path) -> None:
    with shell.terminal("expand", "--root", root, home=root.parent, columns=200) as terminal:
        terminal.wait_for(b"Ctrl-D")
        terminal.write(f"to {FIX}\n\x04".encode())
        code, shown = terminal.finish()
    assert code == 0
    assert b"\r\nto @Fix login\r\n\r\n## Referenced sessions\r\n" in shown
    assert b"the cookie \\u003cb>" in shown


def test_what_is_shown_on_a_terminal_can_not_deceive(root: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_bytes(f"\x1b[2J\u202e {FIX}\r\nb".encode())
    command = ("sh", "-c", '"$0" expand --root "$1" <"$2"', shell.PROGRAM, root, prompt)
    with shell.terminal(home=tmp_path, program=command) as terminal:
        code, shown = terminal.finish()
    assert code == 0
    assert shown.startswith(b"\\u{1b}[2J\\u{202e} @Fix login\r\nb\r\n\r\n## Referenced")


@pytest.mark.parametrize("words", [["--placement", "beside"], ["--on-failure", "never"], ["x"]])
def test_a_bad_option_is_refused_before_anything_is_read(words: list[str], root: Path) -> None:
    done = expand(root, PROMPT, *words)
    assert (done.returncode, done.stdout) == (2, b"")
