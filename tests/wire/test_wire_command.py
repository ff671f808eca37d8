"""The command: its flags, `call`, what it imports, what it prints and where."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from support import requests
from support.requests import AGENT, line
from support.sidecar import PROGRAM, TIMEOUT, Sidecar, clean_environment


def run(
    *arguments: str | Path,
    home: Path,
    given: bytes = b"",
    command: Sequence[str | Path] = (PROGRAM,),
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*command, *arguments],
        input=given,
        capture_output=True,
        timeout=TIMEOUT,
        env=clean_environment(str(home), env),
    )


def test_call_prints_the_result(main_root: Path, tmp_path: Path) -> None:
    params = json.dumps({"agent": AGENT, "query": "latest title"})
    done = run("call", "--root", main_root, "listCandidates", params, home=tmp_path)
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert [item["sessionId"] for item in result["candidates"]] == [
        "fork-of-fork",
        "fork-full",
        "plain-talk",
    ]
    assert done.stderr == b""


def test_call_without_params(tmp_path: Path) -> None:
    done = run("call", "status", home=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["requestsInFlight"] == 0


def test_call_keeps_lone_surrogates(tmp_path: Path) -> None:
    done = run("call", "formatMention", r'{"sessionId":"\ud83d"}', home=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["mention"] == "@[\ud83d](dsh-session:Ilx1ZDgzZCI)"


def test_call_prints_the_error_and_fails(tmp_path: Path) -> None:
    done = run("call", "parseText", '{"text":"dsh-session:IiJ"}', home=tmp_path)
    assert done.returncode == 1
    error = json.loads(done.stdout or done.stderr)
    assert error["code"] == -32011
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("given", ["{", "[]", "5", "NaN"])
def test_call_with_bad_params_fails(tmp_path: Path, given: str) -> None:
    done = run("call", "parseText", given, home=tmp_path)
    assert done.returncode != 0
    assert done.stdout or done.stderr
    assert b"Traceback" not in done.stderr


def test_params_without_an_end_are_not_read_to_their_end(tmp_path: Path) -> None:
    command = ("sh", "-c", 'yes | "$0" call parseText -', PROGRAM)
    done = run(home=tmp_path, command=command)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"sessionref call: the params have more than 67108864 bytes\n"


def test_version_and_help(tmp_path: Path) -> None:
    version = run("--version", home=tmp_path)
    assert version.returncode == 0
    with Sidecar() as sidecar:
        assert sidecar.call("status")["version"] in version.stdout.decode()
    helped = run("--help", home=tmp_path)
    assert helped.returncode == 0
    for flag in ("--root", "--framing", "--policy", "--max-references", "--candidate-limit"):
        assert flag in helped.stdout.decode()


@pytest.mark.parametrize("command", [(PROGRAM,), (sys.executable, "-m", "sessionref")])
@pytest.mark.parametrize("verb", [(), ("serve",)])
def test_the_ways_to_serve(
    tmp_path: Path, command: Sequence[str | Path], verb: Sequence[str]
) -> None:
    given = line("parseText", '{"text":"x"}')
    done = run(*verb, home=tmp_path, given=given, command=command)
    assert done.returncode == 0
    assert done.stdout == (b'{"jsonrpc":"2.0","id":1,"result":{"text":"x","references":[]}}\n')
    assert done.stderr == b""


@pytest.mark.parametrize(
    "flags",
    [
        ("--max-references", "0"),
        ("--max-references", "4"),
        ("--max-references", "x"),
        ("--max-reference-bytes", "0"),
        ("--candidate-limit", "9007199254740992"),
        ("--policy", "sometimes"),
        ("--framing", "morse"),
        ("--no-such-flag",),
        ("no-such-verb",),
    ],
)
def test_a_bad_flag_is_an_error_before_anything_is_served(
    tmp_path: Path, flags: Sequence[str]
) -> None:
    done = run(*flags, home=tmp_path, given=line("status"))
    assert done.returncode not in (0, None)
    assert done.stdout == b""
    assert done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "env",
    [
        {"SESSIONREF_MAX_REFERENCES": "9"},
        {"SESSIONREF_POLICY": "sometimes"},
        {"SESSIONREF_CANDIDATE_LIMIT": "x"},
    ],
)
def test_a_bad_value_in_the_environment_is_an_error(tmp_path: Path, env: Mapping[str, str]) -> None:
    done = run(home=tmp_path, given=line("status"), env=env)
    assert done.returncode != 0
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def imported(tmp_path: Path, given: bytes, *flags: str) -> set[str]:
    """The top-level packages that the program imports while it answers."""
    command = (sys.executable, "-X", "importtime", "-m", "sessionref", *flags)
    done = run(home=tmp_path, given=given, command=command)
    assert done.returncode == 0
    assert done.stdout.endswith(b"\n")
    rows = done.stderr.decode().splitlines()
    return {row.rpartition("|")[2].strip().partition(".")[0] for row in rows if "|" in row}


def test_start_up_leaves_the_language_server_s_libraries_alone(tmp_path: Path) -> None:
    given = line("initialize", '{"protocolVersion":1}') + line("status", None, "2")
    names = imported(tmp_path, given)
    assert "sessionref" in names
    assert names.isdisjoint({"pygls", "lsprotocol", "rich", "cattrs", "attr", "attrs"})


def test_either_framing_can_be_forced(tmp_path: Path) -> None:
    body = line("parseText", '{"text":"x"}').rstrip(b"\n")
    lines = run("--framing", "line", home=tmp_path, given=b"Content-Length: 5\n" + body + b"\n")
    refusal, answer = map(json.loads, lines.stdout.splitlines())
    assert refusal["error"]["code"] == -32700
    assert answer["result"]["text"] == "x"


def test_logs_go_where_they_are_told(main_root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    flags = ("--log-level", "debug", "--log-file", str(log))
    with Sidecar(*flags, roots=[main_root]) as sidecar:
        sidecar.call("prepare", requests.prepare("plain-talk"))
        sidecar.call("listCandidates", {"agent": AGENT})
    assert log.exists()
    assert sidecar.stderr == b""
    assert "hello there" not in log.read_text()
