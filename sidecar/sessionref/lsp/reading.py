"""What is there already: hover, inlay hints and code actions for the mentions of a document.

Each is for the text as it was when it was asked for, or is not answered. Source: issue "`@`
completion in every editor", 3.
"""

import time
from typing import Final

from lsprotocol import types as lsp

from sessionref.dispatcher import Call

from . import actions, markdown, preview
from .desk import Asked, Desk
from .mentions import Judged, mention_at, mentions_in, mentions_of
from .watch import Watch

_PICKS: Final = 3
"""How many other sessions a mention that is at fault is offered."""
_TITLE_UNITS: Final = 80


class Reading:
    """For one editor."""

    def __init__(self, desk: Desk, watch: Watch) -> None:
        self._desk = desk
        self._watch = watch

    async def hover(self, asked: Asked[lsp.HoverParams], _: Call) -> lsp.Hover | None:
        """A preview of the session that a mention refers to."""
        document = self._desk.document(asked)
        hit = None if document is None else mention_at(document, asked.params.position)
        if document is None or hit is None or hit.session_id is None:
            return None
        glanced = await self._desk.glance(document.uri, hit.session_id)
        as_markdown = self._desk.client.markdown_hover
        content = preview.content(glanced, time.time(), as_markdown=as_markdown)
        self._desk.document(asked)
        return lsp.Hover(content, document.range(hit.start, hit.end))

    async def inlay_hints(self, asked: Asked[lsp.InlayHintParams], _: Call) -> list[lsp.InlayHint]:
        """What mentions would be called today, where their label is another."""
        document = self._desk.document(asked)
        hints: list[lsp.InlayHint] = []
        if document is None:
            return hints
        for hit in mentions_in(document, asked.params.range):
            title = await self._desk.new_title(document.uri, hit)
            self._desk.document(asked)
            if title is not None:
                shown = markdown.shortened(title, _TITLE_UNITS)
                place = document.position(hit.end)
                hints.append(lsp.InlayHint(place, f"now: {shown}", padding_left=True))
        return hints

    async def code_actions(
        self, asked: Asked[lsp.CodeActionParams], call: Call
    ) -> list[lsp.CodeAction] | list[lsp.Command]:
        """What can be done about mentions, for an editor that takes any action or commands only."""
        wanted = asked.params.context.only
        found = [
            each
            for each in await self._offered(asked, call)
            if not wanted or any(_is_kind(each.kind or "", kind) for kind in wanted)
        ]
        if self._desk.client.action_literals:
            return found
        return [each.command for each in found if each.command is not None and each.edit is None]

    async def _offered(
        self, asked: Asked[lsp.CodeActionParams], call: Call
    ) -> list[lsp.CodeAction]:
        document = self._desk.document(asked)
        if document is None or not mentions_of(document):
            return []
        made = actions.Actions(document, versioned=self._desk.client.versioned_edits)
        judged = {each.hit: each for each in await self._watch.judge(document)}
        self._desk.document(asked)
        mentioned = {hit.session_id for hit in mentions_of(document)}
        offered: list[lsp.CodeAction] = []
        for hit in mentions_in(document, asked.params.range):
            title = await self._desk.new_title(document.uri, hit)
            if title is not None and hit.session_id is not None:
                offered.append(made.refresh(hit, hit.session_id, title))
            if hit in judged:
                offered.append(made.remove(judged[hit]))
                offered += await self._picks(made, judged[hit], mentioned, call)
            elif hit.session_id is not None:
                offered.append(made.preview(hit, hit.session_id))
            self._desk.document(asked)
        return [*offered, made.expand()]

    async def _picks(
        self, made: actions.Actions, judged: Judged, mentioned: set[str | None], call: Call
    ) -> list[lsp.CodeAction]:
        """Other sessions for a mention that is at fault, of a like label or else the best; and the
        whole menu.
        """
        label = judged.hit.label or ""
        alike = await self._desk.candidates(made.uri, label, call)
        found = alike or await self._desk.candidates(made.uri, "", call)
        others = [each for each in found if each.session_id not in mentioned][:_PICKS]
        query = label if alike and label.isprintable() else ""
        return [
            *made.pick_again(judged, others),
            made.pick_anew(judged, query, self._desk.settings.retrigger_command),
        ]


def _is_kind(kind: str, wanted: str) -> bool:
    return not wanted or kind == wanted or kind.startswith(wanted + ".")
