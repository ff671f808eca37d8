"""Recall messages that are already there: recognising one, and telling whose it is.

Pure. Reads leniently what an earlier version, another writer or the defining system wrote: what
cannot be made out of a recall message counts as absent. Source of the rule: the contract,
section 5 (`already`).
"""

import re
from typing import Final, TypeVar

import msgspec
from msgspec import Raw

from sessionref.sessions.model import Degraded
from sessionref_protocol import mention
from sessionref_protocol.ecmascript import contains, decode

from .message import DirectMessage, elements_of, may_spell, members_of, source_of, string_of
from .references import Wanted
from .retention import Count, Stats
from .snapshot import RECALL_FORM, RECALL_KIND

T = TypeVar("T")

_WORD_END: Final = re.compile(r"[A-Za-z0-9]\Z")


class Recalled(msgspec.Struct, frozen=True):
    """What a recall message says of one of its sources."""

    wanted: Wanted
    stats: Stats | None
    degraded: Degraded | None


class _Position(msgspec.Struct, frozen=True, rename="camel"):
    input_index: Count


class RecallMessage(msgspec.Struct, frozen=True):
    """A context message that was inserted earlier, most likely by us."""

    id: str | None
    references: tuple[Recalled, ...]
    """Those that could be made out."""
    left_out_labels: tuple[str, ...] = ()
    """Labels, such as could be taken for a mention, of references that it does not quote."""


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
    return RecallMessage(
        string_of(message.get("id")),
        tuple(references),
        _strings(source.get("leftOutLabels")),
    )


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
    labels += ["@" + label for label in recall.left_out_labels]
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


def spells_all(recall: RecallMessage, message: DirectMessage) -> bool:
    """Whether a direct message has the `@label` of each of the recall's references, whole.

    So does every message that a recall was made for, unless it was edited since. Labels may have
    several words and may follow each other directly; one may begin with another.
    """
    labels = {recalled.wanted.label for recalled in recall.references}
    text = "\n".join(message.texts.values())
    for label in sorted(labels, key=len, reverse=True):
        goes_on = "(?![A-Za-z0-9])" if _WORD_END.search(label) else ""
        text, found = re.subn(re.escape("@" + label) + goes_on, " ", text)
        if not found:
            return False
    return bool(labels)


def _recalled(value: Raw, place: int) -> Recalled | None:
    entry = members_of(value) or {}
    session_id = string_of(entry.get("sessionId"))
    if session_id is None:
        return None
    label = string_of(entry.get("label"))
    position = _typed(value, _Position)
    wanted = Wanted(
        session_id,
        session_id if label is None else label,
        place if position is None else position.input_index,
        _strings(entry.get("furtherLabels")),
    )
    return Recalled(wanted, _typed(value, Stats), _typed(entry.get("degraded"), Degraded))


def _typed(value: Raw | None, type_: type[T]) -> T | None:
    """The value of this type; None for anything else."""
    try:
        return None if value is None else decode(value, type_)
    except msgspec.DecodeError:
        return None


def _strings(value: Raw | None) -> tuple[str, ...]:
    strings = map(string_of, elements_of(value) or ())
    return tuple(each for each in strings if each is not None)
