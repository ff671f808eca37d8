"""How far the program reaches: no network, no other programs, no files but its own."""

import json
import sys
from pathlib import Path

import pytest

from support import logs, requests, shell
from support.editor import Editor
from support.sidecar import Sidecar

AUDITED = """
import json, os, sys
told = open(os.environ["TOLD"], "a", buffering=1)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod",
           "os.chown", "os.truncate", "os.utime", "shutil.rmtree", "sqlite3.connect"}
NETWORK = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"}
PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"}
def hear(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)) and arguments[2] & WRITES:
        tell("changes", os.fsdecode(arguments[0]))
    elif event in ("os.remove", "os.rmdir") and arguments[1] != -1:
        return  # a part of what shutil.rmtree was heard to do
    elif event in CHANGES and not isinstance(arguments[0], int):
        tell("changes", os.fsdecode(arguments[0]))
    elif event in NETWORK:
        tell("network", repr(arguments[1:]))
    elif event in PROGRAMS:
        tell("programs", list(map(str, arguments[1])))
def tell(kind, what):
    told.write(json.dumps([kind, what]) + "\\n")
sys.dont_write_bytecode = True
sys.addaudithook(hear)
from sessionref.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    for id_ in ("a", "b"):
        logs.write_log(made, id_, [logs.user("https://example.org @x"), logs.title("T")], cwd="/w")
    return made


def heard(told: Path) -> dict[str, list[object]]:
    """What was done, by kind."""
    found: dict[str, list[object]] = {"changes": [], "network": [], "programs": []}
    for line in told.read_text().splitlines():
        kind, what = json.loads(line)
        found[kind].append(what)
    return found


def test_a_host_s_sidecar_reaches_its_cache_and_its_log_only(root: Path, tmp_path: Path) -> None:
    told, cache, log = tmp_path / "told", tmp_path / "caches" / "own", tmp_path / "log"
    with Sidecar(
        *("--log-file", str(log)),
        roots=[root],
        cache=cache,
        env={"TOLD": str(told)},
        command=[sys.executable, "-c", AUDITED],
    ) as sidecar:
        sidecar.call("listCandidates", {"agent": requests.AGENT, "query": "t"})
        sidecar.call("prepare", requests.prepare("a", "b"))
        sidecar.call("readSnapshot", {"agent": requests.AGENT, "sessionId": "a"})
        sidecar.close_stdin()
        assert sidecar.wait() == 0
    found = heard(told)
    assert (found["network"], found["programs"]) == ([], [])
    assert {str(log), str(cache)} <= set(found["changes"])
    allowed = (str(log), str(cache.parent), "/dev/null")
    assert [each for each in found["changes"] if not str(each).startswith(allowed)] == []


def test_an_editor_s_server_reaches_a_temporary_folder_as_well(root: Path, tmp_path: Path) -> None:
    told, cache, temporary = tmp_path / "told", tmp_path / "caches" / "own", tmp_path / "tmp"
    temporary.mkdir()
    env = {
        "TOLD": str(told),
        "TMPDIR": str(temporary),
        "SESSIONREF_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with Editor(root, env=env, command=[sys.executable, "-c", AUDITED]) as editor:
        editor.open("see @")
        (item, _) = editor.complete(0, 5)["items"]
        editor.call("completionItem/resolve", item)
        request = {"command": "sessionref.preview", "arguments": ["a"]}
        asked_for = editor.request("workspace/executeCommand", request)
        editor.respond(editor.asked("window/showDocument")["id"], {"success": True})
        editor.settle(asked_for)
    found = heard(told)
    assert (found["network"], found["programs"]) == ([], [])
    allowed = (str(temporary), str(cache.parent), "/dev/null")
    assert [each for each in found["changes"] if not str(each).startswith(allowed)] == []


@pytest.mark.parametrize("command", [("list",), ("show", "a"), ("doctor",)])
def test_so_does_a_command(root: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    told, cache = tmp_path / "told", tmp_path / "caches" / "own"
    done = shell.run(
        *("-c", AUDITED, *command, "--root", root),
        home=tmp_path,
        env={"TOLD": str(told), "SESSIONREF_CACHE_DIR": str(cache)},
        program=sys.executable,
    )
    assert done.returncode == 0
    found = heard(told)
    assert (found["network"], found["programs"]) == ([], [])
    assert [each for each in found["changes"] if not str(each).startswith(str(cache.parent))] == []
