"""A host's message: read as little as needed, written back byte for byte around the mentions.

Pure. Whatever is not a mention's own text stays raw JSON, so key order, number spelling and fields
that nobody here knows survive. A message of another shape than expected is no fault: it is simply
not a direct message. Knows nothing of policies. Source of the rule: the contract, section 5.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw

from sessionref_protocol import mention
from sessionref_protocol.ecmascript import decode, encode

from .references import Reference, invalid_mention

Members = dict[str, Raw]
"""The members of a JSON object, each value as it was spelled."""


class DirectMessage(msgspec.Struct, frozen=True):
    """A message whose source kind is `user` and whose content is a list."""

    members: Members
    blocks: list[Raw]
    texts: dict[int, str]
    """The texts of the text blocks, by the place of their block in the content."""


class Mentions(msgspec.Struct, frozen=True):
    """What parsing a direct message's text blocks found."""

    references: tuple[Reference, ...]
    """In order of appearance over all blocks, repeated ones included."""
    texts: dict[int, str]
    """The readable texts of the blocks that had a mention."""


def members_of(value: Raw | None) -> Members | None:
    """The members of a JSON object; None for anything else."""
    return decode(value, Members) if value is not None and _begins(value, b"{") else None


def elements_of(value: Raw | None) -> list[Raw] | None:
    """The elements of a JSON array; None for anything else."""
    return decode(value, list[Raw]) if value is not None and _begins(value, b"[") else None


def string_of(value: Raw | None) -> str | None:
    """A JSON string; None for anything else."""
    return decode(value, str) if value is not None and _begins(value, b'"') else None


def may_spell(value: Raw, word: str) -> bool:
    """False only where no string in this JSON text can hold this ASCII word, escaped or not."""
    text = bytes(value)
    return word.encode() in text or b"\\u00" in text


def direct_message(value: Raw) -> DirectMessage | None:
    """The message, if it is a direct one."""
    message = members_of(value)
    if message is None or source_of(message, "kind") != "user":
        return None
    blocks = elements_of(message.get("content"))
    if blocks is None:
        return None
    texts = {}
    for place, block in enumerate(blocks):
        text = _text_of(block)
        if text is not None:
            texts[place] = text
    return DirectMessage(message, blocks, texts)


def find_mentions(message: DirectMessage) -> Mentions:
    """Every mention of a direct message. Blocks are parsed apart.

    Raises `RpcError` (`INVALID_REFERENCE`); `field` names the block that it counts in.
    """
    references: list[Reference] = []
    readable: dict[int, str] = {}
    for place, text in message.texts.items():
        try:
            parsed = mention.parse(text)
        except mention.MalformedMention as error:
            raise invalid_mention(error, field=f"content[{place}].text") from None
        if parsed.references:
            references.extend(Reference(hit.session_id, hit.label) for hit in parsed.references)
            readable[place] = parsed.text
    return Mentions(tuple(references), readable)


def with_texts(message: DirectMessage, texts: Mapping[int, str]) -> Raw:
    """The message with these blocks' texts replaced, and nothing else."""
    blocks = list(message.blocks)
    for place, text in texts.items():
        block = decode(blocks[place], Members)
        blocks[place] = Raw(encode({**block, "text": text}))
    return Raw(encode({**message.members, "content": blocks}))


def has_mentions(texts: Iterable[str]) -> bool:
    """Whether a mention is in any of these texts, be it a malformed one."""
    try:
        return any(mention.parse(text).references for text in texts)
    except mention.MalformedMention:
        return True


def source_of(message: Members, name: str) -> str | None:
    """A string of the message's source, by name."""
    source = members_of(message.get("source"))
    return None if source is None else string_of(source.get(name))


def _text_of(block: Raw) -> str | None:
    members = members_of(block)
    if members is None or string_of(members.get("type")) != "text":
        return None
    return string_of(members.get("text"))


def _begins(value: Raw, sign: bytes) -> bool:
    return memoryview(value)[:1] == sign
