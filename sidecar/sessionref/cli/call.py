"""`sessionref call METHOD [JSON]`: the shell's way in.

Spawns a sidecar of its own as any host would, sends one request, and prints what comes back.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from sessionref_protocol import codec, ecmascript
from sessionref_protocol.framing import LineFraming
from sessionref_protocol.messages import Request, Response

from .options import config, parser

_ID = 1


def run(arguments: Sequence[str]) -> int:
    """0 with the result on stdout, 1 with the error there (and in words on stderr)."""
    made = parser("call")
    made.add_argument("method", metavar="METHOD", help="for example listCandidates")
    made.add_argument(
        "params",
        metavar="JSON",
        nargs="?",
        default="{}",
        help="the params; - reads them from stdin",
    )
    options = made.parse_args(arguments)
    config(options, os.environ, made)  # refuse a bad value here, in words
    text: bytes = sys.stdin.buffer.read() if options.params == "-" else os.fsencode(options.params)
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
    print(f"sessionref call: no answer (exit code {finished.returncode})", file=sys.stderr)
    return 1


def _print(response: Response) -> int:
    shown = response.result if response.error is None else response.error
    try:
        sys.stdout.buffer.write(ecmascript.encode(shown) + b"\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read it has seen enough; nothing is left to be flushed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if response.error is None:
        return 0
    print(f"sessionref call: {response.error.message}", file=sys.stderr)
    return 1


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
