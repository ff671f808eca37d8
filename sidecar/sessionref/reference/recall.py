"""Recall messages that are already there: recognising one, and telling whose it is.

Pure. Reads leniently what an earlier version, another writer or the defining system wrote: what
cannot be made out of a recall message counts as absent. Source of the rule: the contract,
section 5 (`already`).
"""

import msgspec
from msgspec import Raw

from sessionref_protocol import mention
from sessionref_protocol.ecmascript import contains, decode

from .message import DirectMessage, elements_of, may_spell, members_of, source_of, string_of
from .references import Wanted
from .retention import Stats
from .snapshot import RECALL_FORM, RECALL_KIND


class Recalled(msgspec.Struct, frozen=True):
    """What a recall message says of one of its sources."""

    wanted: Wanted
    stats: Stats | None


class RecallMessage(msgspec.Struct, frozen=True):
    """A context message that was inserted earlier, most likely by us."""

    id: str | None
    references: tuple[Recalled, ...]
    """Those that could be made out."""


def recall_message(value: Raw) -> RecallMessage | None:
    """The message, if it carries snapshots of sessions."""
    if not may_spell(value, RECALL_KIND):
        return None
    message = members_of(value) or {}
    if source_of(message, "kind") != RECALL_KIND or source_of(message, "form") != RECALL_FORM:
        return None
    source = members_of(message["source"]) or {}
    references: list[Recalled] = []
    for entry in elements_of(source.get("references")) or ():
        recalled = _recalled(entry, len(references))
        if recalled is not None:
            references.append(recalled)
    return RecallMessage(string_of(message.get("id")), tuple(references))


def is_own(recall: RecallMessage, message: DirectMessage) -> bool:
    """Whether the recall message beside a direct message is that message's own.

    It is if it quotes a session that the message refers to, by a mention or by the `@label` that a
    mention leaves behind, and if no mention remains that it does not answer: then the message was
    edited since, or its neighbour is the recall of another message. A label may itself look like a
    mention, so labels are taken out before mentions are looked for. Of a recall message whose
    references cannot be made out, nothing says that it is another's.
    """
    sessions = {recalled.wanted.session_id for recalled in recall.references}
    labels = [
        "@" + label
        for recalled in recall.references
        for label in (recalled.wanted.label, *recalled.wanted.further_labels)
    ]
    labels.sort(key=len, reverse=True)  # one may begin with another
    refers = False
    for text in message.texts.values():
        for label in labels:
            if contains(text, label):
                refers = True
                text = text.replace(label, " ")
        try:
            remaining = mention.parse(text).references
        except mention.MalformedMention:
            return not sessions
        if sessions and any(hit.session_id not in sessions for hit in remaining):
            return False
        refers = refers or bool(remaining)
    return refers


def _recalled(value: Raw, input_index: int) -> Recalled | None:
    entry = members_of(value) or {}
    session_id = string_of(entry.get("sessionId"))
    if session_id is None:
        return None
    label = string_of(entry.get("label"))
    further = map(string_of, elements_of(entry.get("furtherLabels")) or ())
    try:
        stats = decode(value, Stats)
    except msgspec.ValidationError:
        stats = None
    wanted = Wanted(
        session_id,
        session_id if label is None else label,
        input_index,
        tuple(each for each in further if each is not None),
    )
    return Recalled(wanted, stats)
