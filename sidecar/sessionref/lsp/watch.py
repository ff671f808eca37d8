"""Diagnostics: looks at a document's mentions when it has come to rest, and tells the editor.

One task a document at most; the next keystroke ends it. What was found of the same sessions a
moment ago is believed, so that typing beside a mention reads no log again and again.
"""

import asyncio
import logging
import time
from typing import Final

import anyio
from lsprotocol import types as lsp

from sessionref.dispatcher import Call
from sessionref_protocol import types
from sessionref_protocol.errors import RpcError

from . import shapes
from .desk import Desk
from .documents import Document
from .mentions import Judged, judge, mentions_of

_log: Final = logging.getLogger(__name__)

_REST_SECONDS: Final = 0.2
"""How long a document must be left alone."""
_FRESH_SECONDS: Final = 3.0
"""How long a finding is believed."""


class Watch:
    """Over the documents of one editor."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._marked: set[str] = set()
        """Documents that the editor shows diagnostics of."""
        self._found: dict[object, tuple[float, types.PreviewResult]] = {}

    def look_at(self, uri: str) -> None:
        """The document has changed."""
        if (task := self._tasks.pop(uri, None)) is not None:
            task.cancel()
        task = self._tasks[uri] = asyncio.create_task(self._look(uri))
        task.add_done_callback(lambda done: self._done(uri, done))

    def look_at_all(self) -> None:
        """What is judged by has changed."""
        self._found.clear()
        for document in list(self._desk.documents.text_documents.values()):
            self.look_at(document.uri)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        if (task := self._tasks.pop(uri, None)) is not None:
            task.cancel()
        self._publish(uri, None, [])

    async def judge(self, document: Document) -> list[Judged]:
        """The mentions of a document that something is the matter with."""
        hits = mentions_of(document)
        uri = document.uri
        sought = tuple(hit.session_id for hit in hits)
        key = sought, self._desk.agent(uri).id, self._desk.agent(uri).cwd
        now = time.monotonic()
        since, found = self._found.get(key, (now, None))
        if found is None or now - since > _FRESH_SECONDS:
            call = Call(anyio.current_time(), lambda _: None)
            found = await self._desk.preview(uri, hits, call)
            self._found = {
                **{k: v for k, v in self._found.items() if now - v[0] <= _FRESH_SECONDS},
                key: (now, found),
            }
        sources = {source.session_id: source for source in found.sources}
        return list(judge(document, hits, sources))

    async def _look(self, uri: str) -> None:
        await asyncio.sleep(_REST_SECONDS)
        document = self._desk.documents.open_document(uri)
        if document is None:
            return
        version = document.version
        judged = await self.judge(document) if mentions_of(document) else []
        if document.version == version:
            self._publish(uri, version, [each.diagnostic for each in judged])

    def _publish(self, uri: str, version: int | None, found: list[lsp.Diagnostic]) -> None:
        if not found and uri not in self._marked:
            return
        (self._marked.add if found else self._marked.discard)(uri)
        params = lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        self._desk.dispatcher.notify("textDocument/publishDiagnostics", shapes.plain(params))

    def _done(self, uri: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(uri) is task:
            del self._tasks[uri]
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and not isinstance(error, RpcError):
            _log.error("Internal error while looking at a document", exc_info=error)
