"""A naive grammar of mentions, to hold the real one against: quadratic, and obviously the rule."""

import re

from sessionref_protocol.ecmascript import join_pairs, utf16_length
from sessionref_protocol.mention import MalformedMention, decode_uri, parse

Found = tuple[str, list[tuple[str, str, int, int]]] | tuple[str, int, int]
"""The text and its references (id, label, start, end), or the malformed mention and its place."""

_JS_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NAIVE = re.compile(
    r"@\[(?P<label>(?:\\[^\n\r\u2028\u2029]|[^\\\]])*)\]"
    rf"\((?P<explicit>dsh-session:[^{_JS_SPACE})]*)\)"
    r"|(?P<bare>dsh-session:[A-Za-z0-9_-]+)"
)


def naive(text: str) -> Found:
    """What the rule finds."""
    references: list[tuple[str, str, int, int]] = []

    def shown(found: re.Match[str]) -> str:
        session_id = decode_uri(found["explicit"] or found["bare"])
        start, end = (utf16_length(text[: found.start()]), utf16_length(text[: found.end()]))
        if session_id is None:
            raise MalformedMention(found[0], start, end)
        label = session_id
        if found["label"] is not None:
            label = join_pairs(re.sub(r"(?s)\\(.)", r"\1", found["label"]))
        references.append((session_id, label, start, end))
        return "@" + label

    try:
        return join_pairs(_NAIVE.sub(shown, text)), references
    except MalformedMention as malformed:
        return malformed.mention, malformed.start, malformed.end


def ours(text: str) -> Found:
    """What the program finds."""
    try:
        parsed = parse(text)
    except MalformedMention as malformed:
        return malformed.mention, malformed.start, malformed.end
    references = [(r.session_id, r.label, r.start, r.end) for r in parsed.references]
    return parsed.text, references
