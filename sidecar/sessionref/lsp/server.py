"""The language server's methods, as routes beside the host's own.

Holds what the editor said of itself, its documents and its settings; what is asked of sessions goes
to the handlers, as any host's questions do. Params are read, and the document is looked at, the
moment a request comes in: what is answered later is about the text as it was then, or not at all.
Source: issue "`@` completion in every editor"; the language server protocol 3.17.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from lsprotocol import types as lsp
from msgspec import Raw

from sessionref import __version__
from sessionref.config import Limits
from sessionref.dispatcher import Awaited, Call, Dispatcher, Route
from sessionref.handlers import Handlers
from sessionref.sessions.workers import Workers
from sessionref_protocol import types

from . import actions, shapes
from .commands import Commands
from .completion import Completion
from .desk import Asked, Desk
from .menu import Spot
from .reading import Reading
from .settings import SECTION
from .watch import Watch

P = TypeVar("P")

_PREFIX: Final = "sessionReference/"
_OURS: Final = (
    "preStep",
    "listCandidates",
    "prepare",
    "parseText",
    "formatMention",
    "preview",
    "readSnapshot",
    "describeTranscript",
    "status",
)


class LanguageServer:
    """One editor."""

    def __init__(
        self,
        handlers: Handlers,
        dispatcher: Dispatcher,
        workers: Workers,
        limits: Limits,
        watch_process: Callable[[int], None],
    ) -> None:
        """`watch_process`: ends us with a process of this id."""
        self._handlers = handlers
        self._limits = limits
        self._watch_process = watch_process
        self._desk = Desk(handlers, dispatcher, workers)
        self._completion = Completion(self._desk)
        self._watch = Watch(self._desk)
        self._reading = Reading(self._desk, self._watch)
        self._commands = Commands(self._desk)
        self._news: asyncio.Task[None] | None = None
        """Asks for settings that have changed."""

    def close(self) -> None:
        """The conversation is over."""
        self._commands.close()
        self._desk.close()

    def routes(self) -> Mapping[str, Route]:
        """How each method is answered: an editor's, and a host's in the same frames."""
        ours = self._handlers.routes()
        del ours["initialize"]
        return {
            **ours,
            **{_PREFIX + name: ours[name] for name in _OURS},
            "initialize": Route(shapes.read_client, plain=self._initialize),
            "initialized": _heeded(lsp.InitializedParams, lambda _: None),
            "textDocument/didOpen": _heeded(lsp.DidOpenTextDocumentParams, self._opened),
            "textDocument/didChange": _heeded(lsp.DidChangeTextDocumentParams, self._changed),
            "textDocument/didClose": _heeded(lsp.DidCloseTextDocumentParams, self._closed),
            "workspace/didChangeConfiguration": _heeded(
                lsp.DidChangeConfigurationParams, self._configured
            ),
            "workspace/didChangeWorkspaceFolders": _heeded(
                lsp.DidChangeWorkspaceFoldersParams, self._moved
            ),
            "textDocument/completion": Route(
                self._completion.spot, awaited=_answered(self._completion.complete), lane=_lane
            ),
            "completionItem/resolve": _awaited(lsp.CompletionItem, self._completion.resolve),
            "textDocument/hover": self._about(lsp.HoverParams, self._reading.hover),
            "textDocument/inlayHint": self._about(lsp.InlayHintParams, self._reading.inlay_hints),
            "textDocument/codeAction": self._about(
                lsp.CodeActionParams, self._reading.code_actions
            ),
            "workspace/executeCommand": _awaited(lsp.ExecuteCommandParams, self._commands.execute),
        }

    def _about(self, kind: type[P], handle: Callable[[Any, Call], Awaitable[object]]) -> Route:
        """Of a request about a document: which text it is about is settled here and now."""

        def read(params: Raw | None) -> Asked[Any]:
            asked: Any = shapes.read(kind, params)
            return self._desk.asked(asked, asked.text_document.uri)

        return Route(read, awaited=_answered(handle))

    # Life

    def _initialize(self, client: shapes.Client, _: Call) -> Raw | None:
        self._desk.meet(client)
        if client.process_id is not None:
            self._watch_process(client.process_id)
        capabilities = lsp.ServerCapabilities(
            position_encoding=client.encoding,
            text_document_sync=lsp.TextDocumentSyncOptions(
                open_close=True, change=lsp.TextDocumentSyncKind.Incremental
            ),
            completion_provider=lsp.CompletionOptions(
                trigger_characters=["@", "/"] if self._desk.settings.files else ["@"],
                resolve_provider=True,
                completion_item=lsp.ServerCompletionItemOptions(label_details_support=True),
            ),
            hover_provider=True,
            inlay_hint_provider=True,
            code_action_provider=lsp.CodeActionOptions(
                code_action_kinds=[
                    lsp.CodeActionKind.QuickFix,
                    lsp.CodeActionKind.RefactorRewrite,
                ]
            ),
            execute_command_provider=lsp.ExecuteCommandOptions(commands=list(actions.COMMANDS)),
            workspace=lsp.WorkspaceOptions(
                workspace_folders=lsp.WorkspaceFoldersServerCapabilities(
                    supported=True, change_notifications=True
                )
            ),
            experimental={
                "sessionReference": {
                    "protocolVersion": types.PROTOCOL_VERSION,
                    "methods": [_PREFIX + name for name in _OURS],
                    "limits": msgspec.to_builtins(
                        msgspec.convert(self._limits, types.Limits, from_attributes=True)
                    ),
                }
            },
        )
        info = lsp.ServerInfo("sessionref", __version__)
        return shapes.answer(lsp.InitializeResult(capabilities, info))

    def _configured(self, params: lsp.DidChangeConfigurationParams) -> None:
        given = params.settings
        if isinstance(given, dict):
            self._desk.configure(given.get(SECTION, given))
            self._watch.look_at_all()
        elif self._desk.client.configuration:
            self._news = asyncio.create_task(self._reconfigure())

    async def _reconfigure(self) -> None:
        """Something was set, and the editor did not say what."""
        await self._desk.ask_for_settings()
        self._watch.look_at_all()

    # Documents

    def _opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self._desk.documents.put_text_document(params.text_document)
        self._watch.look_at(params.text_document.uri)

    def _changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        identifier = params.text_document
        document = self._desk.documents.open_document(identifier.uri)
        if document is None:
            return
        for change in params.content_changes:
            document.apply_change(change)
        document.version = identifier.version
        self._watch.look_at(identifier.uri)

    def _closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._desk.documents.remove_text_document(params.text_document.uri)
        self._watch.forget(params.text_document.uri)

    def _moved(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            self._desk.documents.remove_folder(folder.uri)
        for folder in params.event.added:
            self._desk.documents.add_folder(folder)


def _lane(asked: Asked[Spot]) -> tuple[str, str]:
    """A later completion in the same document makes one before it pointless."""
    return "completion", asked.uri


def _heeded(kind: type[P], heed: Callable[[P], None]) -> Route:
    return Route(lambda params: shapes.read(kind, params), heeded=lambda given, _: heed(given))


def _awaited(kind: type[P], handle: Callable[[P], Awaitable[object]]) -> Route:
    async def answer(params: Any, _: Call) -> object:
        return await handle(params)

    return Route(lambda params: shapes.read(kind, params), awaited=_answered(answer))


def _answered(handle: Callable[[Any, Call], Awaitable[object]]) -> Awaited:
    async def answer(params: Any, call: Call) -> Raw | None:
        return shapes.answer(await handle(params, call))

    return answer
