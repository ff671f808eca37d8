"""Rule 5: lines are split at LF only; CR before LF, one leading BOM, blank lines are tolerated.

A line of nothing but JSON white space counts as blank.
"""

import pytest

from support.requests import line
from support.sidecar import Sidecar

MIB = 1 << 20
LIMIT = 64 * MIB


def parse(text: str = "x", request_id: int = 1) -> bytes:
    return line("parseText", f'{{"text":"{text}"}}', str(request_id))


def test_crlf_and_blank_lines(own_sidecar: Sidecar) -> None:
    own_sidecar.send_raw(b"\n\r\n  \t\r\n" + parse().replace(b"\n", b"\r\n") + b"\n\n")
    assert own_sidecar.settle(1)["text"] == "x"
    own_sidecar.close_stdin()
    assert own_sidecar.wait() == 0
    assert own_sidecar.unclaimed() == []


def test_one_leading_bom_is_dropped(own_sidecar: Sidecar) -> None:
    own_sidecar.send_raw(b"\xef\xbb\xbf" + parse())
    assert own_sidecar.settle(1)["text"] == "x"


def test_a_bom_on_a_later_line_is_not_json(own_sidecar: Sidecar) -> None:
    own_sidecar.send_raw(parse() + b"\xef\xbb\xbf" + parse(request_id=2))
    assert own_sidecar.settle(1)["text"] == "x"
    assert own_sidecar.answer(None)["error"]["code"] == -32700


def test_a_last_line_without_line_feed_is_read(own_sidecar: Sidecar) -> None:
    own_sidecar.send_raw(parse(request_id=1) + parse(request_id=2).rstrip(b"\n"))
    own_sidecar.close_stdin()
    assert own_sidecar.settle(1)["text"] == "x"
    assert own_sidecar.settle(2)["text"] == "x"
    assert own_sidecar.wait() == 0


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_other_line_breaks_split_nothing(own_sidecar: Sidecar, character: str) -> None:
    escaped = character if ord(character) > 0x1F else f"\\u{ord(character):04x}"
    own_sidecar.send_raw(parse(f"a{escaped}b"))
    assert own_sidecar.settle(1)["text"] == f"a{character}b"


def test_a_lone_carriage_return_splits_nothing(own_sidecar: Sidecar) -> None:
    own_sidecar.send_raw(parse().replace(b",", b",\r", 1))
    assert own_sidecar.settle(1)["text"] == "x"


def test_lines_may_come_in_any_pieces(own_sidecar: Sidecar) -> None:
    for byte in parse("会话"):
        own_sidecar.send_raw(bytes([byte]))
    assert own_sidecar.settle(1)["text"] == "会话"
    own_sidecar.send_raw(b"".join(parse(request_id=at) for at in range(2, 60)) + b'{"jsonrpc":')
    own_sidecar.send_raw(parse(request_id=60).removeprefix(b'{"jsonrpc":'))
    for at in range(2, 61):
        assert own_sidecar.settle(at)["text"] == "x"


def test_a_line_over_the_limit_is_skipped_and_the_next_one_read(own_sidecar: Sidecar) -> None:
    whole = parse("y" * LIMIT)
    assert len(whole) > LIMIT
    own_sidecar.send_raw(whole + parse(request_id=2), timeout=60)
    answer = own_sidecar.answer(None)
    assert answer["error"]["code"] == -32600
    assert own_sidecar.settle(2)["text"] == "x"
    assert own_sidecar.unclaimed() == []


def test_an_endless_line_is_answered_once_and_costs_no_memory(own_sidecar: Sidecar) -> None:
    chunk = b"y" * MIB
    for _ in range(3 * LIMIT // MIB):
        own_sidecar.send_raw(chunk, timeout=60)
    assert own_sidecar.answer(None)["error"]["code"] == -32600
    own_sidecar.send_raw(b"\n" + parse())
    assert own_sidecar.settle(1)["text"] == "x"
    assert own_sidecar.unclaimed() == []


def test_a_line_of_just_the_limit_is_read(own_sidecar: Sidecar) -> None:
    frame = len(parse("")) - 1
    own_sidecar.send_raw(parse("y" * (LIMIT - frame)), timeout=60)
    assert len(own_sidecar.settle(1, timeout=60)["text"]) == LIMIT - frame
