"""The main job on the wire, readably: what a host sends, and what it gets back.

Makes a small session root, spawns the installed sidecar as any host would (pipes, one JSON value
a line), and shows candidates for a query, the mention, `preStep` with it, the rewritten message
with its snapshot, and one cancelled request. `--root DIR` uses sessions that are already there.
"""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import zstandard

WIDTH = min(shutil.get_terminal_size((100, 24)).columns, 110)


class Host:
    """As little of a host as the job needs: ids, lines out, lines in."""

    def __init__(self, root: str) -> None:
        command = [sys.executable, "-m", "sessionref", "--root", root, "--framing", "line"]
        command.append("--no-index")  # a demonstration leaves nothing behind
        print(f"$ sessionref --root {root}\n")
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ids = itertools.count(1)

    def send(self, *messages: dict[str, Any]) -> None:
        assert self._child.stdin is not None
        for message in messages:
            line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
            show("host    ->", line)
            self._child.stdin.write(line.encode() + b"\n")
        self._child.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline().decode()
        if not line:
            sys.exit(f"the sidecar ended (exit code {self._child.wait()})")
        show("sidecar ->", line.rstrip("\n"))
        message: dict[str, Any] = json.loads(line)
        return message

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.send({"id": next(self._ids), "method": method, "params": params})
        answer = self.answer()
        if "error" in answer:
            sys.exit(f"\n{method} failed: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def leave(self) -> int:
        assert self._child.stdin is not None
        self._child.stdin.close()
        return self._child.wait()


def show(who: str, line: str) -> None:
    """One wire line, shortened to a few rows."""
    most = 5 * (WIDTH - 12)
    text = line if len(line) <= most else line[:most] + f" … ({len(line)} characters)"
    rows = textwrap.wrap(text, WIDTH - 12, break_on_hyphens=False)
    print(textwrap.indent("\n".join(rows), " " * 11).replace(" " * 11, f"{who} ", 1))


def step(title: str) -> None:
    print(f"\n== {title}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", help="a folder of sessions of your own")
    parser.add_argument("--query", help="what to look for")
    options = parser.parse_args()
    if options.root:
        return converse(str(Path(options.root).expanduser()), options.query or "")
    with tempfile.TemporaryDirectory(prefix="sessionref-demo-") as folder:
        write_sessions(Path(folder))
        return converse(folder, options.query or "login")


def converse(root: str, query: str) -> int:
    host = Host(root)
    agent = {"id": "demo-agent", "cwd": "/work/shop"}

    step(f"1. A person types @{query}: which sessions could be meant?")
    found = host.call("listCandidates", {"agent": agent, "query": query, "limit": 3})
    if not found["candidates"]:
        print(f"\nNo session under {root} matches {query!r}.")
        return host.leave()
    for candidate in found["candidates"]:
        display = candidate["display"]
        print(f"           * {display['label']}   ({display.get('cwd', 'no folder')})")

    step("2. They pick the first one; the editor inserts its mention")
    mention = found["candidates"][0]["mention"]
    print(f"           {mention}")

    step("3. The message is sent: the host asks before the agent's next step")
    message = {
        "id": "m1",
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": f"Do the same as in {mention} here."}],
    }
    stepped = host.call(
        "preStep", {"agent": agent, "decision": {"kind": "enter", "messages": [message]}}
    )
    rewritten, context = stepped["decision"]["messages"]
    print(f"\nThe person's message, readable:\n\n{indented(rewritten['content'][0]['text'])}")
    print("\nThe context message that the host stores beside it:\n")
    print(indented(context["content"][0]["text"]))
    reference = context["source"]["references"][0]
    print(
        f"\n{reference['retainedMessages']} of {reference['originalMessages']} messages kept, "
        f"{reference['omittedBytes']} bytes omitted."
    )

    step("4. A request that is cancelled is answered, once")
    host.send(
        {
            "id": "slow",
            "method": "listCandidates",
            "params": {"agent": agent, "query": query, "cancellationToken": "turn-7"},
        },
        {"method": "$/cancel", "params": {"token": "turn-7"}},
    )
    host.answer()

    code = host.leave()
    print(f"\nThe host closed the pipe; the sidecar left with {code}.")
    return code


def indented(text: str, most: int = 2400) -> str:
    shown = text if len(text) <= most else text[:most] + f"\n… ({len(text)} characters)"
    rows = [row for line in shown.splitlines() for row in textwrap.wrap(line, WIDTH - 4) or [""]]
    return textwrap.indent("\n".join(rows), "    ", lambda _: True)


# A session root of the first store's own format: one zstd frame for the header, then one for
# each batch of events.


def write_sessions(root: Path) -> None:
    write_session(
        root,
        "session-7d1c",
        "/work/shop",
        1_790_000_000_000,
        "Fix login",
        [
            ("user", "Logging in fails after the upgrade: the cookie is gone."),
            (
                "assistant",
                "The new framework sets SameSite=Strict. I made it Lax and added a test.",
            ),
            ("user", "Good. <b>Always</b> keep that test."),
            ("assistant", "Done: tests/test_login.py::test_cookie_survives_redirect."),
        ],
    )
    write_session(
        root,
        "session-91f0",
        "/work/blog",
        1_790_000_100_000,
        "Login page copy",
        [("user", "Make the login page friendlier."), ("assistant", "Welcome back!")],
    )
    write_session(
        root, "session-c0de", "/work/shop", 1_790_000_200_000, "Invoices", [("user", "hello")]
    )


def write_session(
    root: Path,
    session: str,
    cwd: str,
    created: int,
    title: str,
    talk: list[tuple[str, str]],
) -> None:
    rows: list[dict[str, Any]] = []

    def add(kind: str, body: dict[str, Any], **envelope: Any) -> None:
        seq = len(rows)
        rows.append({"type": kind, "seq": seq, "time": created + seq, "data": body, **envelope})

    add("turn/start", {"turn": 1})
    for role, text in talk:
        content = [{"type": "text", "text": text}]
        if role == "user":
            body = {"id": f"u{len(rows)}", "role": role, "content": content}
            add("user/message", {**body, "source": {"kind": "user"}}, surfaceOp="append")
        else:
            body = {"id": f"a{len(rows)}", "role": role, "content": content}
            source = {"kind": "agent"}
            add(
                "assistant/message",
                {"turn": 1, "step": 1, "message": {**body, "source": source}},
                surfaceOp="append",
                sourceEventSeqs=[],
            )
    add("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    add("session/title", {"title": title, "messageSeqs": [], "source": {"kind": "fallback"}})
    header = {
        "type": "session",
        "version": 0,
        "id": session,
        "createdAt": created,
        "delegationDepth": 0,
        "cwd": cwd,
    }
    folder = root / f"--{cwd.strip('/').replace('/', '-')}--" / session
    folder.mkdir(parents=True)
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    batches = [[header], rows]
    (folder / "session.jsonl.zstd").write_bytes(
        b"".join(
            compressor.compress(b"".join(json.dumps(row).encode() + b"\n" for row in batch))
            for batch in batches
        )
    )


if __name__ == "__main__":
    sys.exit(main())
