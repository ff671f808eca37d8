"""Where an `@` begins a query, and which."""

import pytest

from sessionref.lsp.trigger import MAX_QUERY, Typed, typed_before


@pytest.mark.parametrize(
    "before", ["", " ", "\t", "\u3000", "\u00a0", *"([{<\"'`", *"（「『【《〈“‘«＂"]
)
def test_it_begins_behind_space_brackets_and_quotes(before: str) -> None:
    line = f"x{before}@lo" if before else "@lo"
    assert typed_before(line, len(line)) == Typed(len(line) - 3, "lo")


@pytest.mark.parametrize("before", [*"a9_.-/)]}>中й", "😀", "”", "」"])
def test_it_does_not_begin_in_a_word(before: str) -> None:
    assert typed_before(f"{before}@lo", 4) is None


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ("@", ""),
        ("hi @fix login", "fix login"),
        ("@one (@two", "two"),
        ("@mail me@home", "mail me@home"),
        ("@[wip", "[wip"),
        ("no sign", None),
        ("@[Fix](dsh-session:ImEi)", None),
        ("@[Fix](dsh-session:ImEi) and more", None),
        ("@[Fix](dsh-session:!!) and more", None),
        ("@[Fix](dsh-session:ImEi) and @more", "more"),
        ("@" + "x" * MAX_QUERY, "x" * MAX_QUERY),
        ("@" + "x" * (MAX_QUERY + 1), None),
    ],
)
def test_what_was_typed(line: str, query: str | None) -> None:
    typed = typed_before(line, len(line))
    assert (None if typed is None else typed.query) == query


def test_the_label_of_a_mention_is_no_query() -> None:
    assert typed_before("@[Fix login](dsh-session:ImEi)", 6) is None
    assert typed_before("@[Fix (@login](dsh-session:ImEi)", 8) is None
    assert typed_before("x" * 99_999 + " @[Fix (@login](dsh-session:ImEi)", 100_008) is None
    assert typed_before("@[Fix](dsh-session:ImEi) (@login", 28) == Typed(26, "l")
    assert typed_before("@Fix and @[x](dsh-session:ImEi)", 4) == Typed(0, "Fix")
