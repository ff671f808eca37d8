"""The commands that an editor can have run: expand, copy a reference, preview.

What an editor can do with the outcome decides how it gets it: an edit is applied, a preview shown,
where it can be asked for that; else the command's result is the edit, or the text. Source: issue
"`@` completion in every editor", 4.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence

import anyio
from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from sessionref.dispatcher import Call
from sessionref_protocol import ecmascript
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.mention import Hit, format_mention

from . import actions
from .desk import Desk
from .mentions import malformed, mentions_of


class Commands:
    """For one editor. Previews that it shows are files, which last as long as the conversation."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._folder: str | None = None
        self._shown = 0

    def close(self) -> None:
        """Remove what was shown."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def execute(self, params: lsp.ExecuteCommandParams) -> object:
        """Run one command."""
        match params.command:
            case actions.EXPAND:
                return await self._expand(_text(params.arguments, "uri"))
            case actions.COPY:
                session_id = _text(params.arguments, "sessionId")
                return await self._copy(session_id, _uri(params.arguments))
            case actions.PREVIEW:
                session_id = _text(params.arguments, "sessionId")
                hit = Hit(0, 0, _more(params.arguments, "label"), session_id)
                return await self._preview(hit, _uri(params.arguments))
            case name:
                raise RpcError(
                    ErrorKind.INVALID_PARAMS, f"There is no command {name[:80]!a}.", field="command"
                )

    async def _expand(self, uri: str) -> object:
        asked = self._desk.asked(None, uri)
        document = self._desk.document(asked)
        if document is None:
            raise RpcError(ErrorKind.INVALID_PARAMS, "The document is not open.", field="arguments")
        hits = mentions_of(document)
        for hit in hits:
            if hit.session_id is None:
                raise RpcError(ErrorKind.INVALID_REFERENCE, f"{malformed(document, hit)}.")
        context = await self._desk.context(uri, hits, _call())
        if context is None:
            self._desk.tell(lsp.MessageType.Info, "The message refers to no session.")
            return None
        self._desk.document(asked)
        client = self._desk.client
        edit = actions.changed(
            document, [actions.expansion(document, context)], versioned=client.versioned_edits
        )
        if not client.apply_edit:
            return edit
        params = lsp.ApplyWorkspaceEditParams(edit, label="Expand session references")
        applied = await self._desk.ask("workspace/applyEdit", params)
        if not (isinstance(applied, dict) and applied.get("applied") is True):
            self._desk.tell(lsp.MessageType.Warning, "The editor did not take the snapshot.")
        return None

    async def _copy(self, session_id: str, uri: str) -> str:
        desk = self._desk
        label = await desk.handlers.label(desk.agent(uri), session_id, desk.settings.config)
        return format_mention(session_id, label.of_reference)

    async def _preview(self, hit: Hit, uri: str) -> str | None:
        context = await self._desk.context(uri, [hit], _call())
        if context is None or not self._desk.client.show_document:
            return context
        shown = await anyio.to_thread.run_sync(self._write, context)
        params = lsp.ShowDocumentParams(uri=from_fs_path(shown) or "", take_focus=True)
        await self._desk.ask("window/showDocument", params)
        return None

    def _write(self, text: str) -> str:
        """A file for the editor to show; plain text, so that nothing in it is rendered."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="sessionref-")
        self._shown += 1
        path = os.path.join(self._folder, f"snapshot-{self._shown}.txt")
        with open(path, "xb", opener=_for_us_alone) as file:
            file.write(ecmascript.to_utf8(text))
        return path


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _call() -> Call:
    return Call(anyio.current_time(), lambda _: None)


def _text(arguments: Sequence[object] | None, name: str) -> str:
    """The first argument: the text itself, or an object that has it by this name."""
    first = arguments[0] if arguments else None
    value = first.get(name) if isinstance(first, dict) else first
    if not isinstance(value, str):
        raise RpcError(ErrorKind.INVALID_PARAMS, f"`{name}` is missing.", field="arguments")
    return value


def _more(arguments: Sequence[object] | None, name: str) -> str | None:
    """What else the first argument says, where it is an object that has it."""
    first = arguments[0] if arguments else None
    value = first.get(name) if isinstance(first, dict) else None
    return value if isinstance(value, str) else None


def _uri(arguments: Sequence[object] | None) -> str:
    """The document that a command is about; an empty text where it is about none."""
    return _more(arguments, "uri") or ""
