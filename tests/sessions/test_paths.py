"""Names of folders and files, beyond the recorded ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionref.sessions.paths import (
    LogName,
    decode_segment,
    encode_segment,
    parse_log_name,
    project_key,
)
from sessionref_protocol.ecmascript import join_pairs
from support.logs import project_folder, session_folder

strings = st.text(st.characters(), min_size=1).map(join_pairs)
"""ECMAScript strings: lone surrogates, but no halves that make a pair."""


@given(strings)
def test_a_folder_spells_one_id_and_spells_it_in_ascii(raw: str) -> None:
    segment = encode_segment(raw)
    assert segment == session_folder(raw)
    assert segment.isascii()
    assert segment not in {".", ".."}
    assert "/" not in segment
    assert decode_segment(segment) == raw


@given(strings)
def test_a_project_has_the_name_that_others_give_it(cwd: str) -> None:
    assert project_key(cwd) == project_folder(cwd)
    assert len(project_key(cwd)) <= 255


@pytest.mark.parametrize(
    "segment", ["", ".", "..", "a b", "~", "~00e9", "~0061", "~00", "é", "a~002", "~D83D~DE0"]
)
def test_a_name_that_no_id_has_means_nothing(segment: str) -> None:
    assert decode_segment(segment) is None


@pytest.mark.parametrize("generation", [0, 1, 2, 10, 999_999_999])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_log_name_says_generation_and_encoding(generation: int, compressed: bool) -> None:
    name = LogName(generation, compressed)
    assert parse_log_name(name.text) == name


def test_log_names_are_as_the_system_writes_them() -> None:
    assert LogName(0, compressed=False).text == "session.jsonl"
    assert LogName(4, compressed=True).text == "session.v4.jsonl.zstd"


@pytest.mark.parametrize(
    "name",
    [
        "session.v0.jsonl",
        "session.v01.jsonl",
        "session.V1.jsonl",
        "Session.jsonl",
        "session.jsonl.zst",
        "session.jsonl.zstd.0a1b2c.tmp",
        "session.jsonl\n",
        "session.v１.jsonl",
        "session.v-1.jsonl",
        "session.v.jsonl",
        "session.v4.jsonl.gz",
        "xsession.jsonl",
    ],
)
def test_any_other_name_is_no_log(name: str) -> None:
    assert parse_log_name(name) is None
