"""A glance at a session in words: beside a completion item, and over a mention.

Pure. Says what it is told; all of it is another session's and escaped. Source: issue "`@`
completion in every editor", 2.
"""

from collections.abc import Callable
from typing import Final

from lsprotocol import types as lsp

from sessionref.reference.glance import Glance
from sessionref.reference.projection import Item
from sessionref.wording import age_in_words, size_in_words
from sessionref_protocol.errors import RpcError

from . import markdown

_TITLE_UNITS: Final = 160
_TEXT_UNITS: Final = 400
"""How much of each message is shown."""

Show = Callable[[str, int], str]
"""Foreign text on one line, at most so long, as it must be spelled where it is shown."""


def content(glanced: Glance | RpcError, now: float, *, as_markdown: bool) -> lsp.MarkupContent:
    """The words, for an editor that renders Markdown or for one that doesn't."""
    show, strong = (markdown.text, "**") if as_markdown else (markdown.shortened, "")
    paragraphs = (
        [show(f"{glanced.message}", _TITLE_UNITS)]
        if isinstance(glanced, RpcError)
        else _paragraphs(glanced, now, show, strong)
    )
    kind = lsp.MarkupKind.Markdown if as_markdown else lsp.MarkupKind.PlainText
    return lsp.MarkupContent(kind, "\n\n".join(paragraphs))


def _paragraphs(glanced: Glance, now: float, show: Show, strong: str) -> list[str]:
    title = show(glanced.title, _TITLE_UNITS)
    return [
        f"{strong}{title}{strong}" if title else "",
        " · ".join(_facts(glanced, now, show)),
        *(_said(item, show, strong) for item in glanced.exchange),
        _prospect(glanced),
        *(["Not all of it can be read with certainty."] if glanced.degraded else []),
    ]


def _facts(glanced: Glance, now: float, show: Show) -> list[str]:
    begun = age_in_words(now - glanced.created_at / 1000)
    facts = [] if glanced.cwd is None else [show(glanced.cwd, _TITLE_UNITS)]
    facts.append(f"begun {begun}")
    if glanced.last_activity_at is not None:
        active = age_in_words(now - glanced.last_activity_at / 1000)
        facts += [] if active == begun else [f"active {active}"]
    return [*facts, _messages(glanced.messages)]


def _said(item: Item, show: Show, strong: str) -> str:
    who = "Summary" if item.checkpoint else "User" if item.role == "user" else "Agent"
    return f"{strong}{who}:{strong} {show(item.text, _TEXT_UNITS)}"


def _prospect(glanced: Glance) -> str:
    kept = glanced.kept
    if kept is None:
        return "It does not fit into a snapshot."
    size = size_in_words(glanced.size)
    if not kept.truncated:
        return f"A snapshot would keep all of it, {size}."
    return (
        f"A snapshot of {size} would keep {kept.retained_messages} of "
        f"{_messages(kept.original_messages)} and drop {size_in_words(kept.omitted_bytes)} of text."
    )


def _messages(number: int) -> str:
    return f"{number} message{'' if number == 1 else 's'}"
