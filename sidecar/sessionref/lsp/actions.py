"""What can be done about mentions, as edits: code actions, and expanding a message.

Pure: edits are made, not applied. Source: issue "`@` completion in every editor", 3 and 4.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from lsprotocol import types as lsp

from sessionref.reference.expansion import line_end_of, message_of
from sessionref_protocol import types
from sessionref_protocol.display import excerpt
from sessionref_protocol.mention import Hit, format_mention

from .documents import Document
from .mentions import Judged

EXPAND: Final = "sessionref.expand"
COPY: Final = "sessionref.copyReference"
PREVIEW: Final = "sessionref.preview"
COMMANDS: Final = (EXPAND, COPY, PREVIEW)

_TITLE_UNITS: Final = 60


def changed(
    document: Document, edits: Sequence[lsp.TextEdit], *, versioned: bool
) -> lsp.WorkspaceEdit:
    """The edit of one document; with its version where the editor can tell versions apart."""
    if not versioned:
        return lsp.WorkspaceEdit(changes={document.uri: edits})
    identifier = lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
    return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, edits)])


class Actions:
    """The code actions for one document."""

    def __init__(self, document: Document, *, versioned: bool) -> None:
        self._document = document
        self._versioned = versioned

    @property
    def uri(self) -> str:
        """The document's."""
        return self._document.uri

    def remove(self, judged: Judged) -> lsp.CodeAction:
        """Take a mention out."""
        return self._fix("Remove this mention", judged.hit, "", judged.diagnostic)

    def refresh(self, hit: Hit, session_id: str, title: str) -> lsp.CodeAction:
        """Call the session by its title of today."""
        shown = excerpt(title, _TITLE_UNITS)
        return self._fix(f"Refresh the label: {shown}", hit, format_mention(session_id, title))

    def pick_again(
        self, judged: Judged, candidates: Sequence[types.Candidate]
    ) -> Iterator[lsp.CodeAction]:
        """Refer to another session instead."""
        for candidate in candidates:
            title = excerpt(candidate.display_title or candidate.session_id, _TITLE_UNITS)
            yield self._fix(
                f"Pick again: {title}", judged.hit, candidate.mention, judged.diagnostic
            )

    def pick_anew(self, judged: Judged, query: str, retrigger: str | None) -> lsp.CodeAction:
        """Type the query instead, and open the menu where the editor told how."""
        action = self._fix("Pick another session…", judged.hit, f"@{query}", judged.diagnostic)
        if retrigger is not None:
            action.command = lsp.Command("Complete", retrigger)
        return action

    def expand(self) -> lsp.CodeAction:
        """Append the snapshot of what the message refers to."""
        title = "Expand session references"
        command = lsp.Command(title, EXPAND, arguments=[{"uri": self.uri}])
        return lsp.CodeAction(title, kind=lsp.CodeActionKind.RefactorRewrite, command=command)

    def preview(self, hit: Hit, session_id: str) -> lsp.CodeAction:
        """Show what a snapshot would hold."""
        title = "Preview snapshot"
        label = {} if hit.label is None else {"label": hit.label}
        arguments = [{"sessionId": session_id, "uri": self.uri, **label}]
        command = lsp.Command(title, PREVIEW, arguments=arguments)
        return lsp.CodeAction(title, kind=lsp.CodeActionKind.Empty, command=command)

    def _fix(
        self, title: str, hit: Hit, text: str, diagnostic: lsp.Diagnostic | None = None
    ) -> lsp.CodeAction:
        edit = lsp.TextEdit(self._document.range(hit.start, hit.end), text)
        return lsp.CodeAction(
            title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=None if diagnostic is None else [diagnostic],
            edit=changed(self._document, [edit], versioned=self._versioned),
        )


def expansion(document: Document, context: str) -> lsp.TextEdit:
    """Puts a context below the message, in place of one that is there already."""
    source = document.source
    written = message_of(source).rstrip()
    eol = line_end_of(source)
    gap = eol * 2 if written else ""
    text = gap + context.replace("\n", eol) + eol
    return lsp.TextEdit(document.range(len(written), len(source)), text)
