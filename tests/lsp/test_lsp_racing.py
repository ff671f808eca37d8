"""Edits racing completions, against a plain string: a menu replaces exactly what was typed.

Keys, other edits and requests go out in one breath. Whatever is answered with a menu must be right
for the text as it was when it was asked for; what nothing came after must be answered with one.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from support.editor import CAPABILITIES, Editor

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
LINE_END = re.compile(r"\r\n|\r|\n")
MENTION = re.compile(r"@\[(\\.|[^\\\]])*\]\(dsh-session:[^)\s]+\)")
BEFORE_AN_AT = set(" \t\u3000\u2028([{（「“\"'<")

SESSIONS = [
    # best first, as the root of these tests has them: label, and where a query may be found
    ("Fix login 页面", ("login", "/work/a", "fix login 页面")),
    ("other one", ("other one", "/work/a")),
    ("<b>[x](y)", ("hostile", "/work/b", "<b>[x](y)")),
    ("broken", ("broken", "/work/c")),
]

PIECES = st.sampled_from(
    [
        *"@xo页😀é中 \t\u3000\u2028([（「“\"'\r\n",
        "\r\n",
        "@fix",
        " @lo",
        "（@页",
        "me@work",
        "work/a",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
PLACES = st.integers(0, 10_000)


class Typing(NamedTuple):
    """Key by key, each with a request; a cursor that goes with them."""

    place: int
    keys: str


class Edit(NamedTuple):
    """Somewhere else, as a formatter makes it."""

    start: int
    end: int
    text: str


class Asking(NamedTuple):
    """At a cursor that somebody put there."""

    place: int


STEPS = st.lists(
    st.builds(Typing, PLACES, st.lists(PIECES, min_size=1, max_size=6).map("".join))
    | st.builds(Edit, PLACES, PLACES, TEXTS)
    | st.builds(Asking, PLACES),
    max_size=6,
)
LAST = st.builds(
    Typing, PLACES, st.sampled_from(["@", " @", "（@", "😀 @", " @fix", "\r\n@页", "@o", "x"])
)
ROUNDS = st.lists(st.tuples(STEPS, LAST), min_size=1, max_size=3)


class Reference:
    """The document as a string, the plain way."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self.encoding = encoding
        self.cursor = 0
        """Where was typed last."""

    def units(self, text: str) -> int:
        if self.encoding == "utf-32":
            return len(text)
        codec, width = ("utf-16-le", 2) if self.encoding == "utf-16" else ("utf-8", 1)
        return len(text.encode(codec)) // width

    def place(self, number: int) -> int:
        """Some offset that is a position: not inside of a line end."""
        offset = number % (len(self.text) + 1)
        return offset - (self.text[offset - 1 : offset + 1] == "\r\n" and offset > 0)

    def position(self, offset: int) -> dict[str, int]:
        *before, last = LINE_END.split(self.text[:offset])
        return {"line": len(before), "character": self.units(last)}

    def replace(self, start: int, end: int, text: str) -> dict[str, Any]:
        """Edit, and say it as an editor would."""
        change = {
            "range": {"start": self.position(start), "end": self.position(end)},
            "text": text,
        }
        self.text = self.text[:start] + text + self.text[end:]
        return change

    def typed_at(self, cursor: int) -> int | None:
        """Where the `@query` before the cursor begins; a mention that was picked is none."""
        before = LINE_END.split(self.text[:cursor])[-1]
        line = before + LINE_END.split(self.text[cursor:])[0]
        for at in reversed(range(len(before))):
            if line[at] == "@" and (at == 0 or line[at - 1] in BEFORE_AN_AT):
                is_picked = any(hit.start() <= at < hit.end() for hit in MENTION.finditer(line))
                return None if is_picked else cursor - len(before) + at
        return None


class Wanted(NamedTuple):
    """What a menu must be, where one comes."""

    labels: list[str]
    typed: str
    range: dict[str, Any] | None


def wanted(reference: Reference, cursor: int) -> Wanted:
    at = reference.typed_at(cursor)
    if at is None:
        return Wanted([], "", None)
    typed = reference.text[at:cursor]
    found = [name for name, texts in SESSIONS if any(typed[1:].lower() in each for each in texts)]
    return Wanted(
        found, typed, {"start": reference.position(at), "end": reference.position(cursor)}
    )


@pytest.fixture(scope="module")
def editors(root: Path) -> Iterator[dict[str, Editor]]:
    """An editor of each encoding, for all examples."""
    with ExitStack() as stack:
        yield {
            encoding: stack.enter_context(
                Editor(
                    root,
                    capabilities={**CAPABILITIES, "general": {"positionEncodings": [encoding]}},
                )
            )
            for encoding in ENCODINGS
        }


def play(
    editor: Editor, uri: str, reference: Reference, steps: list[Any]
) -> list[tuple[int | str, Wanted]]:
    """Do the steps in one breath. What was asked, and what for."""
    asked: list[tuple[int | str, Wanted]] = []

    def ask(cursor: int) -> None:
        request_id = editor.ask_completion(*reference.position(cursor).values(), uri=uri)
        asked.append((request_id, wanted(reference, cursor)))

    with editor.in_one_breath():
        for step in steps:
            match step:
                case Typing(place, keys):
                    cursor = reference.place(place)
                    for key in re.findall(r"\r\n|.", keys, re.DOTALL):
                        editor.change(reference.replace(cursor, cursor, key), uri=uri)
                        cursor = reference.cursor = reference.place(cursor + len(key))
                        ask(cursor)
                case Edit(start, end, text):
                    low, high = sorted((reference.place(start), reference.place(end)))
                    editor.change(reference.replace(low, high, text), uri=uri)
                case Asking(place):
                    ask(reference.place(place))
    return asked


def check(answer: dict[str, Any], menu: Wanted, *, is_last: bool) -> list[dict[str, Any]]:
    """The items, if it was answered with any."""
    if not is_last and "error" in answer:
        assert answer["error"]["code"] == -32800
        return []
    items: list[dict[str, Any]] = answer["result"]["items"]
    assert [item["label"] for item in items] == menu.labels
    assert all(item["textEdit"]["range"] == menu.range for item in items)
    assert all(item["filterText"].startswith(menu.typed) for item in items)
    return items


_numbers = count()


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(
    text=TEXTS,
    rounds=ROUNDS,
    language=st.sampled_from(["markdown", "", "no-such-language", "中"]),
)
@settings(max_examples=100)
def test_a_menu_is_for_the_text_that_it_was_asked_for(
    editors: dict[str, Editor],
    encoding: str,
    text: str,
    rounds: list[tuple[list[Any], Typing]],
    language: str,
) -> None:
    editor, reference = editors[encoding], Reference(text, encoding)
    uri = f"untitled:中 {next(_numbers)}"
    editor.open(text, uri, language)
    for steps, last in rounds:
        asked = play(editor, uri, reference, [*steps, last])
        for request_id, menu in asked[:-1]:
            check(editor.answer(request_id), menu, is_last=False)
        request_id, menu = asked[-1]
        items = check(editor.answer(request_id), menu, is_last=True)
        if items:  # pick one; the next round shows that both documents are still the same
            edit = items[-1]["textEdit"]
            cursor = reference.cursor
            change = reference.replace(cursor - len(menu.typed), cursor, edit["newText"])
            assert change["range"] == edit["range"]
            editor.apply(edit, uri=uri)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


LINE = "words 😀 of a prompt, which goes on and on（as some of them do）; and on it goes\r\n"


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(steps=STEPS, last=LAST)
@settings(max_examples=4, phases=[Phase.explicit, Phase.generate])
def test_a_document_of_five_megabytes_is_no_different(
    editors: dict[str, Editor], encoding: str, steps: list[Any], last: Typing
) -> None:
    editor = editors[encoding]
    reference = Reference(LINE * (5_000_000 // len(LINE.encode())), encoding)
    uri = f"untitled:big-{next(_numbers)}"
    editor.open(reference.text, uri)
    spread = [
        step._replace(
            **{
                name: place * 997
                for name, place in step._asdict().items()
                if isinstance(place, int)
            }
        )
        for step in (*steps, last)
    ]
    asked = play(editor, uri, reference, spread)
    for request_id, menu in asked:
        check(editor.answer(request_id, timeout=60), menu, is_last=request_id == asked[-1][0])
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
