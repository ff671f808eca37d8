"""Completion: from a cursor in a document to the menu behind its `@`, and a look at one item.

The text is looked at the moment the request comes in; a menu is for that text or is not sent.
Source: issue "`@` completion in every editor", 2 and 6; field notes 37 to 41.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from lsprotocol import types as lsp
from msgspec import Raw

from sessionref.dispatcher import Call
from sessionref_protocol import types

from . import preview, shapes
from .desk import Asked, Desk
from .files import Found, file_item
from .menu import Menu, Spot, completions, session_item
from .offers import side_by_side
from .trigger import Typed, typed_before

_QUOTE: Final = '"'


class Completion:
    """For one editor."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def spot(self, params: Raw | None) -> Asked[Spot]:
        """Where a completion is asked for, in the text as it is now."""
        given = shapes.read(lsp.CompletionParams, params)
        uri = given.text_document.uri
        document = self._desk.documents.open_document(uri)
        if document is None:
            return self._desk.asked(Spot(line="", index=0, number=0), uri)
        number, index = document.place(given.position)
        return self._desk.asked(Spot(line=document.line(number), index=index, number=number), uri)

    async def complete(self, asked: Asked[Spot], call: Call) -> lsp.CompletionList:
        """The menu for a spot. Raises `RpcError` (`CANCELLED`) where the text is another now."""
        spot, uri = asked.params, asked.uri
        typed = typed_before(spot.line, spot.index)
        if typed is None:
            return lsp.CompletionList(is_incomplete=False, items=[])
        files, sessions = await self._offers(uri, typed.query, call)
        self._desk.document(asked)
        count = self._desk.documents.units.count
        client = self._desk.client
        menu = Menu(
            uri=uri,
            replaced=lsp.Range(
                lsp.Position(spot.number, count(spot.line[: typed.at])),
                lsp.Position(spot.number, count(spot.line[: _end(spot, typed)])),
            ),
            typed=spot.line[typed.at : spot.index],
            label_details=client.label_details,
            folders=lsp.CompletionItemKind.Folder.value in client.kinds,
            retrigger=self._desk.settings.retrigger_command,
        )
        now = time.time()
        return completions(
            [
                *(file_item(each, menu) for each in files),
                *(session_item(each, menu, now) for each in sessions),
            ],
            is_incomplete=True,
        )

    async def _offers(
        self, uri: str, query: str, call: Call
    ) -> tuple[Sequence[Found], Sequence[types.Candidate]]:
        """Files, where they are wanted, and sessions."""
        find_sessions = partial(self._desk.candidates, uri, query, call)
        if not self._desk.settings.files:
            return (), await find_sessions()
        return await side_by_side(partial(self._desk.files, uri, query), find_sessions)

    async def resolve(self, item: lsp.CompletionItem) -> lsp.CompletionItem:
        """The item with a preview of its session beside it."""
        if isinstance(item.data, dict) and isinstance(item.data.get("sessionId"), str):
            uri = item.data.get("uri")
            glanced = await self._desk.glance(str(uri), item.data["sessionId"])
            item.documentation = preview.content(
                glanced, time.time(), as_markdown=self._desk.client.markdown
            )
        return item


def _end(spot: Spot, typed: Typed) -> int:
    """Where in the line the query ends: editors close a quote as soon as it is opened."""
    is_closed = typed.query.startswith(_QUOTE) and spot.line.startswith(_QUOTE, spot.index)
    return spot.index + is_closed
