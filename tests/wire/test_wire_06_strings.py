"""Rule 6: strings are ECMAScript strings, bytes are UTF-8 throughout, numbers are JSON's.

What is only passed on keeps its key order and the spelling of its numbers.
"""

import pytest

from support.requests import line
from support.sidecar import Sidecar

AGENT = '"agent":{"id":"x"}'
NUMBERS = (
    '{"z":1.0,"a":1e400,"n":123456789012345678901234567890,"minus":-0,"m":-0.0,"e":1E+2,'
    '"tiny":1e-400,"ten":10.50,"list":[1.0,2,{"b":1,"a":2.50}],"null":null}'
)


def prepare_line(content: str) -> bytes:
    return line("prepare", f'{{{AGENT},"references":[],"content":{content}}}')


def test_lone_surrogates_survive_and_keep_their_spelling(own_sidecar: Sidecar) -> None:
    own_sidecar.send_raw(line("parseText", r'{"text":"\ud83d \uDE00 \ud83d\ude00 \u00e9"}'))
    heard = own_sidecar.hear(1)
    assert heard.message["result"]["text"] == "\ud83d \ude00 \U0001f600 é"
    assert rb'"text":"\ud83d \ude00 ' in heard.line
    assert "\U0001f600 é".encode() in heard.line


def test_lone_surrogates_survive_beside_anything_else(own_sidecar: Sidecar) -> None:
    """A line with one takes a second path, which must be equal to the first."""
    plain = f'[{{"type":"text","text":"a"}},{NUMBERS}]'
    own_sidecar.send_raw(prepare_line(plain))
    expected = own_sidecar.hear(1).line
    own_sidecar.send_raw(prepare_line(plain.replace('"a"}', r'"\ud800"}')))
    assert own_sidecar.hear(1).line == expected.replace(b'"a"}', rb'"\ud800"}')


def test_passed_on_values_keep_key_order_and_number_spelling(own_sidecar: Sidecar) -> None:
    content = f'[{{"type":"text","text":"a","x":{NUMBERS}}},{NUMBERS}]'
    own_sidecar.send_raw(prepare_line(content))
    assert own_sidecar.hear(1).line == (
        b'{"jsonrpc":"2.0","id":1,"result":{"content":' + content.encode() + b"}}"
    )


@pytest.mark.parametrize("text", ["no mention", "@[l](dsh-session:InBsYWluLXRhbGsi)"])
def test_messages_keep_key_order_and_number_spelling(own_sidecar: Sidecar, text: str) -> None:
    """Also those whose text is rewritten, and blocks of types that we don't know."""
    message = (
        f'{{"n":1.0,"content":[{{"k":1e400,"text":"{text}","type":"text","z":{NUMBERS}}},'
        f'{{"type":"future","text":"{text}","v":1.50}}],"id":"m","source":{{"kind":"user",'
        f'"rpcId":12345678901234567890}},"role":"user","after":{NUMBERS}}}'
    )
    other = f'{{"source":{{"kind":"plugin"}},"content":[{NUMBERS}]}}'
    decision = f'{{"more":{NUMBERS},"messages":[{other},{message}],"kind":"enter","last":0.10}}'
    own_sidecar.send_raw(line("preStep", f'{{{AGENT},"decision":{decision}}}'))
    heard = own_sidecar.hear(1).line.decode()
    rewritten = message.replace(text, "@l", 1) if text.startswith("@") else message
    assert f'"messages":[{other},{rewritten}' in heard
    assert f'"decision":{{"more":{NUMBERS},"messages":[' in heard
    assert '],"kind":"enter","last":0.10}' in heard


def test_a_reject_comes_back_as_it_is(own_sidecar: Sidecar) -> None:
    decision = f'{{"reason":"\\u2028 no","kind":"reject","x":{NUMBERS},"messages":5}}'
    own_sidecar.send_raw(line("preStep", f'{{{AGENT},"decision":{decision}}}'))
    assert own_sidecar.hear(1).line == (
        b'{"jsonrpc":"2.0","id":1,"result":{"decision":' + decision.encode() + b',"outcomes":[]}}'
    )


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x1"])
@pytest.mark.parametrize("surrogate", ["", r'"s":"\ud800",'])
def test_what_is_no_json_number_is_refused(
    own_sidecar: Sidecar, number: str, surrogate: str
) -> None:
    own_sidecar.send_raw(prepare_line(f'[{{{surrogate}"n":{number}}}]'))
    assert own_sidecar.answer(None)["error"]["code"] == -32700


def test_line_separators_leave_escaped(own_sidecar: Sidecar) -> None:
    own_sidecar.send_raw(line("parseText", '{"text":"a\u2028b\u2029c"}'))
    heard = own_sidecar.hear(1)
    assert rb"a\u2028b\u2029c" in heard.line
    own_sidecar.send_raw(prepare_line('[{"k\u2028":"a\u2028b\u2029c \\ud800"}]'))
    heard = own_sidecar.hear(1)
    assert rb'{"k\u2028":"a\u2028b\u2029c \ud800"}' in heard.line


BAD_UTF_8 = {
    "a lone byte": b"\xff",
    "a surrogate of its own": b"\xed\xa0\x80",
    "a pair of surrogates": b"\xed\xa0\xbd\xed\xb8\x80",
    "overlong": b"\xc0\xaf",
    "cut short": b"\xe4\xbc",
    "too high": b"\xf4\x90\x80\x80",
}


@pytest.mark.parametrize("place", ["passed on", "skipped", "key", "notification"])
@pytest.mark.parametrize("name", BAD_UTF_8)
def test_a_line_is_utf_8_throughout(own_sidecar: Sidecar, name: str, place: str) -> None:
    raw = {
        "passed on": prepare_line('["?"]'),
        "skipped": line("parseText", '{"text":"x","unknown":"?"}'),
        "key": line("parseText", '{"text":"x","?":1}'),
        "notification": line("unknown", '{"x":"?"}', None),
    }[place]
    own_sidecar.send_raw(raw.replace(b"?", BAD_UTF_8[name]))
    assert own_sidecar.answer(None)["error"]["code"] == -32700
    assert own_sidecar.call("parseText", {"text": "still"})["text"] == "still"


def test_nul_and_every_control_round_trips(own_sidecar: Sidecar) -> None:
    text = "".join(map(chr, range(0x20))) + "\x7f\x80\x9f\ufeff\uffff"
    assert own_sidecar.call("parseText", {"text": text})["text"] == text
