"""`sessionref call METHOD [JSON]`: the shell's way in.

Spawns a sidecar of its own as any host would, sends one request, and prints what comes back.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from sessionref_protocol import codec, ecmascript
from sessionref_protocol.framing import LineFraming
from sessionref_protocol.messages import Request, Response

from . import streams
from .exits import Exit
from .options import config, parser
from .terminal import complain, write_json

_ID = 1


def command_line() -> argparse.ArgumentParser:
    """What `call` can be told."""
    made = parser("call")
    made.add_argument("method", metavar="METHOD", help="for example listCandidates")
    made.add_argument(
        "params",
        metavar="JSON",
        nargs="?",
        default="{}",
        help="the params; - reads them from stdin",
    )
    return made


def run(arguments: Sequence[str]) -> int:
    """0 with the result on stdout, 1 with the error there (and in words on stderr)."""
    made = command_line()
    options = made.parse_args(arguments)
    limit = config(options, os.environ, made).limits.max_line_bytes  # and refuse bad values here
    text = streams.read(limit) if options.params == "-" else os.fsencode(options.params)
    if text is None:
        complain("call", f"the params have more than {limit} bytes")
        return Exit.FAILED
    try:
        params = ecmascript.compact(text)
    except msgspec.DecodeError as error:
        made.error(f"JSON: {error}")
    request = codec.encode_message(Request(id=_ID, method=options.method, params=params))
    finished = subprocess.run(  # noqa: S603 - our own interpreter and our own flags
        [sys.executable, "-P", "-m", "sessionref", "serve", *_flags(options), "--framing", "line"],
        input=LineFraming.frame(request),
        stdout=subprocess.PIPE,
        check=False,
    )
    for frame in finished.stdout.splitlines():
        message = codec.decode_frame(frame)
        if isinstance(message, Response):
            return _print(message)
    complain("call", f"no answer (exit code {finished.returncode})")
    return Exit.FAILED


def _print(response: Response) -> int:
    if response.error is None:
        write_json(response.result)
        return Exit.DONE
    write_json(response.error)
    complain("call", response.error.message)
    return Exit.FAILED


def _flags(options: object) -> list[str]:
    flags: list[str] = []
    for name, value in vars(options).items():
        if name in ("method", "params", "framing") or value is None:
            continue
        flag = "--" + name.replace("_", "-")
        if value is True:
            flags.append(flag)
            continue
        for one in value if isinstance(value, list) else [value]:
            flags += [flag, one]
    return flags
