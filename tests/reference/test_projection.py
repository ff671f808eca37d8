"""What of a surface becomes conversation."""

from sessionref.reference.projection import Item, is_larger, project
from sessionref.sessions.model import Node, Voice


def test_people_assistants_and_checkpoints_are_quoted_in_surface_order() -> None:
    surface = [
        Node.of(9, Voice.CHECKPOINT, "what was before"),
        Node.of(3, Voice.PERSON, "a question"),
        Node.of(4, Voice.ASSISTANT, "an answer"),
    ]
    assert project(surface) == (
        Item.of("user", "what was before", True),
        Item.of("user", "a question", False),
        Item.of("assistant", "an answer", False),
    )


def test_other_voices_are_never_quoted() -> None:
    assert project([Node.of(0, Voice.OTHER, "text that should not be here")]) == ()


def test_nodes_without_text_are_dropped_and_white_space_is_text() -> None:
    surface = [
        Node.of(0, Voice.PERSON, ""),
        Node.of(1, Voice.CHECKPOINT, ""),
        Node.of(2, Voice.ASSISTANT, " \n"),
    ]
    assert project(surface) == (Item.of("assistant", " \n", False),)


def test_an_empty_surface_is_an_empty_conversation() -> None:
    assert project([]) == ()


def test_sizes_are_of_what_would_be_quoted_in_bytes() -> None:
    nodes = [
        Node.of(0, Voice.OTHER, "x" * 9),
        Node.of(1, Voice.PERSON, "é"),
        Node.of(2, Voice.PERSON, "a"),
    ]
    assert [is_larger(nodes, size) for size in (0, 2, 3, 4)] == [True, True, False, False]
    assert not is_larger([], 0)
