"""An editor that speaks to the program as editors do: Content-Length frames over pipes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.sidecar import Sidecar

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "completion": {
            "completionItem": {
                "documentationFormat": ["markdown", "plaintext"],
                "labelDetailsSupport": True,
            },
            "completionItemKind": {"valueSet": [*range(1, 26)]},
        },
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
        "hover": {"contentFormat": ["markdown"]},
    },
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"showDocument": {"support": True}},
}

URI = "file:///work/a/prompt.md"


class Editor(Sidecar):
    """A language client without a screen. `start` shakes hands."""

    def __init__(
        self,
        root: Path | str,
        *arguments: str,
        folders: Sequence[str] = ("/work/a",),
        capabilities: Mapping[str, Any] = CAPABILITIES,
        options: object = None,
        process_id: int | None = None,
        start: bool = True,
        **spawning: Any,
    ) -> None:
        """`spawning`: as the constructor of a `Sidecar` has it."""
        super().__init__(*arguments, roots=[root], framing="content-length", **spawning)
        self._versions: dict[str, int] = {}
        self._start = start
        self._hello = {
            "processId": process_id,
            "rootUri": None,
            "capabilities": capabilities,
            "workspaceFolders": [{"uri": f"file://{path}", "name": path} for path in folders],
            "initializationOptions": options,
        }
        self.capabilities: dict[str, Any] = {}

    def __enter__(self) -> "Editor":
        super().__enter__()
        if self._start:
            self.start()
        return self

    def start(self) -> dict[str, Any]:
        """`initialize` and `initialized`; the answer of the former."""
        answer: dict[str, Any] = self.call("initialize", self._hello)
        self.capabilities = answer["capabilities"]
        self.notify("initialized", {})
        return answer

    def open(self, text: str, uri: str = URI, language: str = "markdown") -> None:
        self._versions[uri] = 1
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, *changes: Mapping[str, Any], uri: str = URI) -> None:
        self._versions[uri] += 1
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": self._versions[uri]},
                "contentChanges": list(changes),
            },
        )

    def apply(self, edit: Mapping[str, Any], uri: str = URI) -> None:
        """Apply a text edit to the document."""
        self.change({"range": edit["range"], "text": edit["newText"]}, uri=uri)

    def write(self, text: str, uri: str = URI) -> None:
        """Replace the whole text."""
        self.change({"text": text}, uri=uri)

    def at(self, line: int, character: int, uri: str = URI) -> dict[str, Any]:
        """Params that name a position."""
        return {
            "textDocument": {"uri": uri},
            "position": {"line": line, "character": character},
        }

    def ask_completion(self, line: int, character: int, uri: str = URI) -> int | str:
        """Ask for a completion without waiting for it; the id of the request."""
        return self.request("textDocument/completion", self.at(line, character, uri))

    def complete(self, line: int, character: int, uri: str = URI) -> dict[str, Any]:
        """The list of a completion."""
        answer: dict[str, Any] = self.settle(self.ask_completion(line, character, uri))
        return answer

    def complete_text(self, text: str, uri: str = URI) -> dict[str, Any]:
        """The list behind the end of a text, which becomes the document."""
        self.write(text, uri)
        lines = text.split("\n")
        return self.complete(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2, uri)

    def items(self, text: str, uri: str = URI) -> list[dict[str, Any]]:
        """The items behind the end of a text, which becomes the document."""
        found: list[dict[str, Any]] = self.complete_text(text, uri)["items"]
        return found
