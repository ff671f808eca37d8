"""The tests' own tools: what the other tests take for granted."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from support import logs, roots, vectors
from support.sidecar import Sidecar, WireError


@pytest.mark.parametrize("name", roots.NAMES)
def test_packing_an_unpacked_archive_gives_the_same_archive(
    name: str, session_roots: Callable[[str], Path]
) -> None:
    source = Path(roots.__file__).parents[1] / "roots" / "pack.py"
    code = (
        "import runpy, sys, pathlib;"
        "pack = runpy.run_path(sys.argv[1])['pack'];"
        "sys.stdout.buffer.write(pack(pathlib.Path(sys.argv[2])))"
    )
    packed = subprocess.run(
        [sys.executable, "-c", code, str(source), str(session_roots(name))],
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    # How gzip packs the same bytes differs between versions of Python and of zlib.
    archive = (roots.ARCHIVES / f"{name}.tar.gz").read_bytes()
    assert gzip.decompress(packed) == gzip.decompress(archive)


def test_the_corrupt_archive_keeps_its_links_and_its_odd_files(
    session_roots: Callable[[str], Path],
) -> None:
    corrupt = session_roots("corrupt")
    alias = corrupt / "208-symlinked-session-directory/--w--/alias"
    assert str(alias.readlink()) == "healthy"
    log = corrupt / "209-symlinked-session-file/--w--/victim/session.jsonl.zstd"
    assert log.is_symlink()
    assert log.stat().st_size == 1005
    assert (corrupt / "207-symlinked-project-directory/--linked--").is_dir()
    assert not (corrupt / "210-dangling-session-file/--w--/victim/session.jsonl.zstd").exists()
    folder = corrupt / "205-session-file-is-a-directory/--w--/dirsession/session.jsonl.zstd"
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


def test_every_vector_file_loads() -> None:
    names = sorted(path.name.split(".")[0] for path in vectors.FOLDER.glob("*.json*"))
    for name in names:
        assert "about" in vectors.load(name), name
    assert len(vectors.load("surface")["cases"]) == 141


ECHO = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "fail":
        answer["error"] = {"code": -32602, "message": "no", "data": {"field": "x"}}
    else:
        answer["result"] = message.get("params")
    print(json.dumps(answer), flush=True)
print("bye", file=sys.stderr)
sys.exit(7)
"""


def test_the_driver_sends_requests_and_pairs_the_answers() -> None:
    with Sidecar(command=[sys.executable, "-c", ECHO]) as sidecar:
        first = sidecar.request("echo", ["\ud83d", "\U0001f600"])
        second = sidecar.request("echo", request_id="1")
        assert sidecar.settle(second) is None
        assert sidecar.settle(first) == ["\ud83d", "\U0001f600"]
        with pytest.raises(WireError) as caught:
            sidecar.call("fail")
        assert (caught.value.code, caught.value.data) == (-32602, {"field": "x"})
        with pytest.raises(TimeoutError, match="nothing in"):
            sidecar.answer(99, timeout=0.01)
        sidecar.close_stdin()
        assert sidecar.wait() == 7
        assert sidecar.stderr == b"bye\n"
        with pytest.raises(TimeoutError, match="at its end"):
            sidecar.answer(99)


@pytest.mark.parametrize(
    "printed", ["hello", '{"jsonrpc":"2.0","id":1}', '"x"', '{"id":1,"result":1}', "\u2028"]
)
def test_the_driver_refuses_a_stdout_that_is_not_pure(printed: str) -> None:
    code = f"import sys; sys.stdout.buffer.write({printed.encode()!r} + b'\\n')"
    with (
        pytest.raises(AssertionError, match="no message of ours"),
        Sidecar(command=[sys.executable, "-c", code]) as sidecar,
    ):
        sidecar.answer(1)


def test_the_writer_of_logs_agrees_with_the_recorded_names() -> None:
    for case in vectors.load("paths")["cases"]:
        if "result" not in case:
            continue
        if case["method"] == "encodeSegment":
            assert logs.session_folder(case["params"]["raw"]) == case["result"]["segment"]
        else:
            assert logs.project_folder(case["params"]["cwd"]) == case["result"]["key"]


def test_a_written_log_is_the_header_frame_and_one_frame_a_batch(tmp_path: Path) -> None:
    rows = [logs.user("one"), logs.assistant("two \ud83d"), logs.title("t")]
    path = logs.write_log(tmp_path, "a/b", rows, cwd="/w/x", batch=2)
    assert path == tmp_path / "--w-x--" / "a~002Fb" / "session.jsonl.zstd"
    frames = []
    left = path.read_bytes()
    while left:
        decoder = zstandard.ZstdDecompressor().decompressobj()
        frames.append(decoder.decompress(left))
        left = decoder.unused_data
    assert [text.count(b"\n") for text in frames] == [1, 2, 1]
    lines = [json.loads(text) for text in b"".join(frames).splitlines()]
    assert lines[0]["id"] == "a/b"
    assert [row["seq"] for row in lines[1:]] == [0, 1, 2]
    assert lines[2]["data"]["message"]["content"] == [{"type": "text", "text": "two \ud83d"}]
    plain = logs.write_log(tmp_path, "a/b", rows, cwd="/w/x", zstd=False)
    assert plain.name == "session.jsonl"
    assert plain.read_bytes() == b"".join(frames)
