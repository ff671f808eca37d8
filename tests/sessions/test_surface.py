"""The fold of a surface: order after replacements, what is refused, and that it is linear."""

import pytest

from sessionref.sessions.model import Node, Voice
from sessionref.sessions.surface import (
    Citations,
    InvalidSurfaceError,
    Kind,
    Replace,
    Surface,
    check_citations,
)


def node(seq: int) -> Node:
    return Node.of(seq, Voice.PERSON, str(seq))


def surface(*kinds: Kind, system_first: bool = False) -> Surface:
    """A surface of nodes 0, 1, … of these kinds."""
    made = Surface(system_first=system_first)
    for seq, kind in enumerate(kinds):
        made.append(node(seq), kind)
    return made


def order(made: Surface) -> list[int]:
    return [found.seq for found in made.nodes()]


MESSAGES = [Kind.MESSAGE] * 5


def test_a_replacement_stands_where_its_span_stood() -> None:
    made = surface(*MESSAGES)
    made.replace(node(5), Kind.MESSAGE, (1, 3), [1, 2, 3])
    assert order(made) == [0, 5, 4]
    made.append(node(6), Kind.MESSAGE)
    made.replace(node(7), Kind.MESSAGE, (5, 4), [[4, 5]])
    assert order(made) == [0, 7, 6]
    made.replace(node(8), Kind.MESSAGE, (0, 6), [6, 0, 7, 3])
    made.append(node(9), Kind.MESSAGE)
    assert order(made) == [8, 9]
    assert [found.text for found in made.nodes()] == ["8", "9"]


@pytest.mark.parametrize(
    ("span", "citations"),
    [
        ((3, 1), [1, 2, 3]),
        ((1, 9), [1]),
        ((5, 5), [4]),
        ((-1, 4), [[0, 4]]),
        ((1, 3), [1, 3]),
        ((1, 3), []),
        ((1, 3), [[1, 2]]),
        ((1, 3), [1, 2, 3, 3]),
        ((1, 3), [1, 2, 3, 5]),
        ((1, 3), [[1, 5]]),
        ((1, 3), [[1, 2, 3]]),
        ((1, 3), [[1, 3], 2]),
        ((1, 3), [3, [1, 2]]),
        ((1, 3), [-1, 1, 2, 3]),
    ],
)
def test_an_invalid_replacement_changes_nothing(
    span: tuple[int, int], citations: Citations
) -> None:
    made = surface(*MESSAGES)
    with pytest.raises(InvalidSurfaceError):
        made.replace(node(5), Kind.MESSAGE, span, citations)
    assert order(made) == [0, 1, 2, 3, 4]


def test_what_was_replaced_is_no_longer_on_the_surface() -> None:
    made = surface(*MESSAGES)
    made.replace(node(5), Kind.MESSAGE, (1, 3), [1, 2, 3])
    with pytest.raises(InvalidSurfaceError):
        made.replace(node(6), Kind.MESSAGE, (2, 4), [2, 4, 5])


def test_a_tool_result_replaces_exactly_one_tool_result() -> None:
    made = surface(Kind.MESSAGE, Kind.TOOL_RESULT, Kind.TOOL_RESULT)
    for span in ((0, 0), (1, 2), (0, 1)):
        with pytest.raises(InvalidSurfaceError):
            made.replace(node(3), Kind.TOOL_RESULT, span, [0, 1, 2])
    made.replace(node(3), Kind.TOOL_RESULT, (1, 1), [1])
    made.replace(node(4), Kind.TOOL_RESULT, (3, 3), [3])
    made.replace(node(5), Kind.MESSAGE, (0, 4), [0, 4])
    assert order(made) == [5, 2]


def test_an_opening_system_message_gives_way_to_its_like_only() -> None:
    made = surface(Kind.SYSTEM, Kind.MESSAGE, Kind.SYSTEM, system_first=True)
    for kind, span in ((Kind.MESSAGE, (0, 0)), (Kind.MESSAGE, (0, 1)), (Kind.SYSTEM, (0, 1))):
        with pytest.raises(InvalidSurfaceError):
            made.replace(node(3), kind, span, [0, 1])
    made.replace(node(3), Kind.SYSTEM, (0, 0), [0])
    made.replace(node(4), Kind.MESSAGE, (1, 2), [1, 2])
    assert order(made) == [3, 4]
    older = surface(Kind.SYSTEM, Kind.MESSAGE)
    older.replace(node(2), Kind.MESSAGE, (0, 1), [0, 1])
    assert order(older) == [2]


def test_a_replacement_is_spelled_in_one_of_two_ways() -> None:
    assert Replace("replace", start=1, end=2).span() == (1, 2)
    assert Replace("replace", start_seq=1, end_seq=2).span() == (1, 2)
    for wrong in (
        Replace("insert", start=1, end=2),
        Replace("replace", start=1, end_seq=2),
        Replace("replace", start=1, end=2, start_seq=1),
        Replace("replace", start=1),
    ):
        with pytest.raises(InvalidSurfaceError):
            wrong.span()


def test_citations_are_earlier_and_unique() -> None:
    good: list[Citations] = [[], [0], [4, 2], [[0, 4]], [0, [1, 3], 4]]
    for citations in good:
        check_citations(citations, 5)
    bad: list[Citations] = [[5], [-1], [[2, 1]], [[0]], [1, 1], [[0, 1], 1]]
    for citations in bad:
        with pytest.raises(InvalidSurfaceError):
            check_citations(citations, 5)


def test_endless_replacements_are_linear() -> None:
    """Each takes the last replacement and two more: a quadratic fold takes minutes."""
    count = 100_000
    made = Surface(system_first=False)
    made.append(node(0), Kind.MESSAGE)
    for seq in range(1, 3 * count, 3):
        made.append(node(seq), Kind.MESSAGE)
        made.append(node(seq + 1), Kind.MESSAGE)
        made.replace(node(seq + 2), Kind.MESSAGE, (seq - 1, seq + 1), [[0, seq + 1]])
    assert order(made) == [3 * count]


def test_many_nodes_replaced_one_by_one_are_linear() -> None:
    count = 100_000
    made = surface(*[Kind.TOOL_RESULT] * count)
    for seq in range(count):
        made.replace(node(count + seq), Kind.TOOL_RESULT, (seq, seq), [seq])
    assert order(made) == list(range(count, 2 * count))
