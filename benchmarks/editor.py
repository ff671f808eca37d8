"""The program as an editor's language server: a keystroke, and the menu that it brings.

Frames are Content-Length ones; else a peer as any other.
"""

import json
import time
from collections.abc import Sequence
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
        self._result(self._ask("initialize", capabilities={}, workspaceFolders=folders))
        document = {"uri": _URI, "languageId": "markdown", "version": 1, "text": ""}
        self._say(method="textDocument/didOpen", params={"textDocument": document})

    def type(self, text: str) -> list[dict[str, Any]]:
        """The items of the menu behind a text."""
        items: list[dict[str, Any]] = self._result(self._press(text))["items"]
        return items

    def burst(self, texts: Sequence[str]) -> float:
        """Type one text after the other, and wait for none.

        Seconds from the last of them until its menu is there, and until nothing is left to answer.
        """
        *before, last = texts
        asked = {self._press(text) for text in before}
        began = time.perf_counter()
        asked.add(self._press(last))
        while asked:
            message = self._message()
            asked.discard(message.get("id", 0))
        taken = time.perf_counter() - began
        if message.get("id") != self._calls or not message["result"]["items"]:
            raise RuntimeError("the last key is not the last that has its menu")
        return taken

    def warm_up(self, text: str, seconds: float) -> None:
        """Type until nothing is read for the first time any more."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.type(text)

    def _say(self, **members: object) -> None:
        payload = json.dumps({"jsonrpc": "2.0", **members}).encode()
        self.send(b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload))

    def _press(self, text: str) -> int:
        """Make this the text, and ask for the menu behind it; the id of the request."""
        self._version += 1
        document = {"uri": _URI, "version": self._version}
        changes = {"textDocument": document, "contentChanges": [{"text": text}]}
        self._say(method="textDocument/didChange", params=changes)
        position = {"line": 0, "character": len(text)}
        return self._ask("textDocument/completion", textDocument=document, position=position)

    def _ask(self, method: str, **params: object) -> int:
        self._calls += 1
        self._say(id=self._calls, method=method, params=params)
        return self._calls

    def _result(self, call: int) -> Any:
        while True:
            message = self._message()
            if message.get("id") == call and "method" not in message:
                return message["result"]

    def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._payload())
        return message

    def _payload(self) -> bytes:
        length = int(self.answer().partition(b":")[2])
        self.answer()
        while len(self._heard) < length:
            self._heard += self._read()
        payload, self._heard = self._heard[:length], self._heard[length:]
        return payload
