"""Logs as an input tells them: a generation, and lines in which `#` stands for the next seq."""

import json
import re
from contextlib import suppress
from random import Random

from sessions import make, naive
from support import logs

HEADERS = [
    json.dumps(logs.header("s", cwd="/w", version=generation)).encode() for generation in range(5)
]


def generation_of(data: bytes) -> int:
    """Which generation of the format an input is about."""
    return data[0] % len(HEADERS) if data else 0


def numbered(lines: list[bytes], generation: int) -> list[bytes]:
    """The lines with seqs for marks, as far as the plain reader takes them."""
    written: list[bytes] = []
    log = naive.Log(generation)
    for line in lines:
        written.append(line.replace(b"#", b"%d" % log.seq))
        with suppress(naive.BadError, naive.RefusedError, RecursionError):
            log.take(written[-1])
    return written


_TOKENS = r"""
"type":"user/message" "type":"assistant/message" "type":"tool/result" "type":"system/message"
"type":"steering/message" "type":"developer/message" "type":"turn/start" "type":"turn/end"
"type":"step/start" "type":"step/end" "type":"session/title" "type":"subagent/descriptor"
"type":"text-chunks" "type":"tool-call-chunks" "type":"new/thing" "seq":# "seq0":# "time0":1
"surfaceOp":"append" "surfaceOp":{"op":"replace","start":0,"end":0} "sourceEventSeqs":[0]
"surfaceOp":{"op":"replace","startSeq":0,"endSeq":1} "sourceEventSeqs":[[0,1]] "data":{ "message":{
"content":[ "ignorable":true {"type":"text","text":"a"} {"type":"tool-call","id":"c"} "callId":"c"
"source":{"kind":"user"} "source":{"kind":"plugin","plugin":"compact"} "dt":[1] "dt":[1e308,1e308]
"args":["b"] 1e400 1.0 -0 null \ud83d \ude00 \u0074urn/end [[ 99999999999999999999
"""
TOKENS = (*_TOKENS.encode().split(), b"\n", b"\r\n", b"\xff", b"\xed\xa0\xbd")
"""What lines of a log are likely to hold."""


def mutate(data: bytes, seed: int) -> bytes:
    """An input with one of its lines changed as JSON, left out, moved, repeated, or a new one."""
    rnd = Random(seed)
    prefix, lines = data[:6], data[6:].split(b"\n")
    at = rnd.randrange(len(lines))
    match rnd.randrange(6):
        case 0:
            lines[at : at + 1] = []
        case 1:
            lines.insert(rnd.randrange(len(lines) + 1), lines[at])
        case 2:
            lines.insert(at, lines.pop(rnd.randrange(len(lines))))
        case 3:
            writer = make.Writer(rnd, generation_of(data))
            writer.seq = rnd.randrange(6)
            writer.surface = [(seq, "user/message") for seq in range(writer.seq)]
            writer.write()
            lines.insert(at, marked(make.spell(rnd, writer.rows[0], odd=rnd.random() < 0.2)))
        case _:
            with suppress(ValueError, RecursionError, AttributeError):
                row = json.loads(lines[at].replace(b"#", b'"#"'))
                changed = make.spell(rnd, make.mutate(rnd, row), odd=rnd.random() < 0.2)
                lines[at] = changed.replace(b'"#"', b"#")
    return prefix + b"\n".join(lines)


def marked(line: bytes) -> bytes:
    """A line with a mark for its seq."""
    return re.sub(rb'("seq0?": ?)[0-9]+', rb"\1#", line, count=1)
