"""The program as an editor's language server: a keystroke, and the menu that it brings.

Frames are Content-Length ones; else a peer as any other.
"""

import json
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import PROGRAM, Peer, environment

_URI: Final = "file:///work/app-7/prompt.md"


class Editor(Peer):
    """A prompt with an `@query` at its end."""

    def __init__(self, root: Path, cache: Path) -> None:
        super().__init__([str(PROGRAM), "--stdio", "--root", str(root)], environment(cache))
        self._calls = 0
        self._version = 1
        folders = [{"uri": "file:///work/app-7", "name": "app-7"}]
        self._call("initialize", {"capabilities": {}, "workspaceFolders": folders})
        document = {"uri": _URI, "languageId": "markdown", "version": 1, "text": ""}
        self._say(method="textDocument/didOpen", params={"textDocument": document})

    def type(self, text: str) -> list[dict[str, Any]]:
        """The items of the menu behind a text."""
        self._version += 1
        document = {"uri": _URI, "version": self._version}
        changes = {"textDocument": document, "contentChanges": [{"text": text}]}
        self._say(method="textDocument/didChange", params=changes)
        position = {"line": 0, "character": len(text)}
        menu = self._call(
            "textDocument/completion", {"textDocument": document, "position": position}
        )
        items: list[dict[str, Any]] = menu["items"]
        return items

    def warm_up(self, text: str, seconds: float) -> None:
        """Type until nothing is read for the first time any more."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.type(text)

    def _say(self, **members: object) -> None:
        payload = json.dumps({"jsonrpc": "2.0", **members}).encode()
        self.send(b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload))

    def _call(self, method: str, params: object) -> Any:
        self._calls += 1
        self._say(id=self._calls, method=method, params=params)
        while True:
            message = json.loads(self._payload())
            if message.get("id") == self._calls and "method" not in message:
                return message["result"]

    def _payload(self) -> bytes:
        length = int(self.answer().partition(b":")[2])
        self.answer()
        while len(self._heard) < length:
            self._heard += self._read()
        payload, self._heard = self._heard[:length], self._heard[length:]
        return payload
