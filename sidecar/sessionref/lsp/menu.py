"""The menu behind an `@`: candidates and files to completion items.

Pure but for a clock: what is offered was decided before. Clients differ in what they filter by and
when they ask again, so each item begins its filter text with what was typed, tells its rank as
text, replaces everything from the `@` on, and no list claims to be complete. Source: field note 37.
"""

from collections.abc import Sequence

import msgspec
from lsprotocol import types as lsp

from sessionref.wording import age_in_words
from sessionref_protocol import types
from sessionref_protocol.display import excerpt

_LABEL_UNITS = 120


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a completion was asked for, as the document was when it was asked."""

    line: str
    index: int
    """Of the cursor in the line."""
    number: int
    """Of the line."""


class Menu(msgspec.Struct, frozen=True, kw_only=True):
    """What every item of one menu shares."""

    uri: str
    replaced: lsp.Range
    """From the `@` to the cursor, and over the quote that closes what is typed."""
    typed: str
    """What stands there."""
    label_details: bool
    """Whether the editor shows details beside labels."""
    folders: bool
    """Whether it has a sign for folders."""
    retrigger: str | None
    """Its command that opens the menu."""


def completions(items: Sequence[lsp.CompletionItem], *, is_incomplete: bool) -> lsp.CompletionList:
    """The items in this order."""
    for rank, item in enumerate(items):
        item.sort_text = f"{rank:05}"
    return lsp.CompletionList(is_incomplete=is_incomplete, items=items)


def session_item(candidate: types.Candidate, menu: Menu, now: float) -> lsp.CompletionItem:
    """A session; picking it inserts its mention."""
    label = excerpt(candidate.display_title or candidate.session_id or "(no title)", _LABEL_UNITS)
    elsewhere = None if candidate.same_workspace else candidate.display.cwd
    age = age_in_words(now - candidate.created_at / 1000)
    details = lsp.CompletionItemLabelDetails(
        detail=None if elsewhere is None else f" {elsewhere}", description=age
    )
    return lsp.CompletionItem(
        label=label,
        label_details=details if menu.label_details else None,
        detail=None if menu.label_details else " · ".join(filter(None, (elsewhere, age))),
        kind=lsp.CompletionItemKind.Reference,
        filter_text=f"{menu.typed} {label}",
        insert_text_format=lsp.InsertTextFormat.PlainText,
        text_edit=lsp.TextEdit(menu.replaced, candidate.mention),
        data={"sessionId": candidate.session_id, "uri": menu.uri},
    )
