"""Retention as the rule reads, word by word: slow, plain, and sharing nothing with the product.

Every probe builds the whole text and measures it; every dropped message serializes everything
that is left. Only the tests may be this slow.
"""

import json
import re
from typing import NamedTuple

Message = tuple[str, str, bool]
"""Role, text, and whether it is a checkpoint."""


class Naive(NamedTuple):
    """What is left: the JSON text, the messages, and what was omitted."""

    json: str
    messages: list[Message]
    omitted_messages: int
    omitted_bytes: int


def utf8(text: str) -> bytes:
    return re.sub("[\ud800-\udfff]", "\ufffd", text).encode()


def stringify(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    escaped = re.sub("[\ud800-\udfff]", lambda hit: f"\\u{ord(hit[0]):04x}", quoted)
    return escaped.replace("<", "\\u003c")


def serialize(
    session_id: str, label: str, cwd: str | None, seq: int | None, messages: list[Message]
) -> str:
    conversation = ",".join(
        f'{{"role":{stringify(role)},"text":{stringify(text)}}}' for role, text, _ in messages
    )
    return (
        f'{{"sessionId":{stringify(session_id)},"label":{stringify(label)},'
        f'"cwd":{"null" if cwd is None else stringify(cwd)},'
        f'"capturedThroughSeq":{"null" if seq is None else seq},'
        f'"conversation":[{conversation}]}}'
    )


def shorten(original: str, target: int) -> tuple[str, int]:
    data = utf8(original)
    best = None
    low, high = 0, target
    while low <= high:
        middle = (low + high) // 2
        head = data[: -(-middle // 2)].decode(errors="ignore")
        tail = data[len(data) - middle // 2 :]
        while tail and 0x80 <= tail[0] < 0xC0:
            tail = tail[1:]
        omitted = len(data) - len(head.encode()) - len(tail)
        text = head + tail.decode() + f"\n[… omitted {omitted} UTF-8 bytes …]"
        if len(text.encode()) <= target:
            best = text, omitted
            low = middle + 1
        else:
            high = middle - 1
    return ("", len(data)) if best is None else best


def fit(
    session_id: str,
    label: str,
    cwd: str | None,
    seq: int | None,
    conversation: list[Message],
    max_bytes: int,
) -> Naive | None:
    """None where it cannot be made to fit."""
    originals = list(conversation)
    messages = list(conversation)
    omitted = [0] * len(messages)
    dropped_bytes = 0

    def size() -> int:
        return len(serialize(session_id, label, cwd, seq, messages).encode())

    while size() > max_bytes:
        droppable = [i for i in range(len(messages) - 1) if not messages[i][2]]
        if not droppable:
            break
        oldest = droppable[0]
        dropped_bytes += len(utf8(messages[oldest][1]))
        del messages[oldest], originals[oldest], omitted[oldest]
    while (overflow := size() - max_bytes) > 0:
        lengths = [len(utf8(text)) for _, text, _ in messages]
        if not any(lengths):
            return None
        longest = lengths.index(max(lengths))
        role, text, checkpoint = originals[longest]
        text, omitted[longest] = shorten(text, max(0, lengths[longest] - overflow))
        if text == messages[longest][1]:
            return None
        messages[longest] = role, text, checkpoint
    return Naive(
        serialize(session_id, label, cwd, seq, messages),
        messages,
        len(conversation) - len(messages),
        dropped_bytes + sum(omitted),
    )
