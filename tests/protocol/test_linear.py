"""The cost of adversarial texts is linear, never quadratic.

Eight times the text may take about eight times as long; a quadratic pass would take sixty-four
times. The bound lies between, the processor time of the best of several runs counts, and what is
quick anyway is not judged: so a busy machine does not fail the test, and a quadratic pass does.
"""

import base64
from collections.abc import Callable
from contextlib import suppress
from time import process_time

import msgspec
import pytest

from sessionref_protocol import ecmascript
from sessionref_protocol.framing import Framing
from sessionref_protocol.mention import SCHEME, MalformedMention, format_mention, parse

FACTOR = 8
TOLERATED = 24
QUICK = 0.05


def seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def assert_linear(work: Callable[[int], Callable[[], object]], size: int) -> None:
    small, large = work(size), work(size * FACTOR)
    spent = seconds(large)
    for _ in range(3):
        if spent < QUICK or spent < TOLERATED * (base := min(seconds(small) for _ in range(3))):
            return
        spent = min(spent, seconds(large))
    pytest.fail(f"{spent:.3f} s for {FACTOR} times what takes {base:.4f} s")


MENTION = format_mention("a")

TEXTS: dict[str, Callable[[int], str]] = {
    "openings": lambda n: "@[" * n + SCHEME,
    "openings before one target": lambda n: "@[" * n + "](" + SCHEME,
    "labels without a target": lambda n: "@[a](" * n + SCHEME,
    "backslashes": lambda n: "@[" + "\\" * n + SCHEME,
    "escaped openings": lambda n: "\\@[" * n + SCHEME,
    "escapes that end a label": lambda n: "@[\\\n" * n + SCHEME,
    "labels full of escapes": lambda n: "@[\\a\\]" * n + SCHEME,
    "targets that never end": lambda n: "@[a](dsh-session:" * n,
    "targets without a label": lambda n: "](dsh-session:" * n,
    "bare schemes": lambda n: "dsh-session: " * n,
    "bare schemes and openings": lambda n: "dsh-session:.@[" * n,
    "schemes in one URI": lambda n: "dsh-session:" * n,
    "mentions": lambda n: MENTION * n,
    "mentions after astral characters": lambda n: ("😀" + MENTION) * n,
    "one long label": lambda n: "@[" + "\\]" * n + "](dsh-session:ImEi)",
    "one long id of surrogates": lambda n: format_mention("\ud800x" * n),
    "one long malformed URI": lambda n: "@[a](dsh-session:" + "I" * n + ")",
    "deep JSON in a URI": lambda n: SCHEME + base64.urlsafe_b64encode(b"[[[" * n).decode(),
}


@pytest.mark.parametrize("name", TEXTS)
def test_parsing_mentions(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = TEXTS[name](size)

        def parse_it() -> None:
            with suppress(MalformedMention):
                parse(text)

        return parse_it

    assert_linear(work, 2_000)


JSON: dict[str, Callable[[int], bytes]] = {
    "lone surrogates": lambda n: b'["' + b"\\ud83d" * n + b'"]',
    "strings with lone surrogates": lambda n: b"[" + b'"\\ud83d",' * n + b"1]",
    "backslashes": lambda n: b'["\\ud83d' + b"\\\\" * n + b'"]',
    "an open string": lambda n: b'["\\ud83d' + b"\\n" * n,
    "openings": lambda n: b"[" * n,
    "digits": lambda n: b"9" * n,
}


@pytest.mark.parametrize("name", JSON)
def test_decoding_json(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = JSON[name](size)

        def decode_it() -> None:
            for decode in (ecmascript.decode_any, ecmascript.compact, ecmascript.scan_object):
                with suppress(msgspec.DecodeError):
                    decode(text)

        return decode_it

    assert_linear(work, 25_000)


def test_scanning_deep_objects() -> None:
    def work(size: int) -> Callable[[], object]:
        text = b'{"a":' * size + b'"x"' + b"}" * size
        return lambda: (ecmascript.scan_object(text), ecmascript.depth(text))

    assert_linear(work, 2_000)


def test_searching_half_an_emoji() -> None:
    def work(size: int) -> Callable[[], object]:
        haystack = "\ud83cA😀" * size
        return lambda: ecmascript.contains(haystack, "\ude00\ud83dA")

    assert_linear(work, 25_000)


@pytest.mark.parametrize("mode", ["line", "content-length"])
@pytest.mark.parametrize("chunk_size", [7, 65_536])
def test_framing_one_long_frame(mode: str, chunk_size: int) -> None:
    def work(size: int) -> Callable[[], object]:
        body = b"x" * size * chunk_size
        head = b"" if mode == "line" else b"Content-Length: %d\r\n\r\n" % len(body)
        stream = head + body + b"\n"
        chunks = [stream[at : at + chunk_size] for at in range(0, len(stream), chunk_size)]

        def feed_all() -> None:
            framing = Framing("auto", limit=2**30)
            assert [frame for chunk in chunks for frame in framing.feed(chunk)] == [body]

        return feed_all

    assert_linear(work, 12_500 if chunk_size < 100 else 32)
