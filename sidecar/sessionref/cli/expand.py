"""`sessionref expand < prompt.md`: a message with its mentions made readable, and their snapshots.

Asks what a host would ask with `preStep`, for one message: the text on stdin, as far as it is not
an expanded context already. What comes back is put together as one text; a fault is told with its
place in that text.
"""

import argparse
import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from typing import get_args

import msgspec
from msgspec import Raw

from sessionref.reference.expansion import expanded, line_end_of, message_of
from sessionref.reference.prestep import POLICIES, OnFailure, Placement
from sessionref_protocol import codec, ecmascript, types
from sessionref_protocol.display import printable
from sessionref_protocol.errors import ErrorKind, RpcError

from . import streams
from .exits import Exit, exit_code
from .options import config, seconds_to_wait, session_parser
from .places import explained, place
from .terminal import complain, write_json, write_text
from .wiring import ask, asker, call


class _Block(msgspec.Struct):
    text: str


class _Message(msgspec.Struct):
    id: str
    content: tuple[_Block]


class _Decision(msgspec.Struct):
    messages: list[_Message]


def command_line() -> argparse.ArgumentParser:
    """What `expand` can be told."""
    made = session_parser(
        "expand",
        "Read a message from stdin, and print it with every mention replaced by its @label, and "
        "with the snapshots of the sessions that it refers to.",
    )
    made.add_argument(
        "--placement", choices=get_args(Placement), help="where the snapshots go (after the text)"
    )
    made.add_argument(
        "--on-failure",
        choices=get_args(OnFailure),
        help="what becomes of a message with a reference that fails: an error, the message as it "
        "is, or the message without that reference (terminate)",
    )
    return made


def run(arguments: Sequence[str]) -> int:
    """0 with the text, 1 with what is wrong and where, 3 if a session was not read in time."""
    made = command_line()
    options = made.parse_args(arguments)
    settled = config(options, os.environ, made)
    policy = POLICIES[settled.policy]
    placement: Placement = options.placement or policy.placement
    on_failure: OnFailure = options.on_failure or policy.on_failure
    seconds = seconds_to_wait(made, options)
    message = ""

    def tell(error: types.ErrorObject) -> None:
        complain("expand", explained(error, message, settled.settings.references))

    try:
        source = _read(settled.limits.max_line_bytes)
        message = message_of(source)
        params = types.PreStepParams(
            agent=asker(options.agent),
            decision=_decision(message),
            policy=types.PolicyInput(placement=placement, on_failure=on_failure),
            deadline_ms=1000 * seconds,
        )
        result = ask(settled, lambda parts: parts.handlers.pre_step(params, call()))
    except RpcError as error:
        failure = codec.error_object(error)
        if options.json:
            write_json(failure)
        tell(failure)
        return exit_code(error)
    for failure in _failures(result.outcomes):
        tell(failure)
    if options.json:
        write_json(result)
    else:
        _show(_expanded(source, message, result, placement))
    return Exit.DONE


def _read(limit: int) -> str:
    """The text on stdin. Raises `RpcError` where it is no text, or has more than `limit` bytes."""
    if sys.stdin.isatty():
        complain("expand", "write the message, and end it with Ctrl-D on a line of its own")
    data = streams.read(limit)
    if data is None:
        raise RpcError(ErrorKind.INVALID_REQUEST, f"the message has more than {limit} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        where = place(before, len(before))
        wrong = f"the message is not UTF-8: {where} has the byte 0x{data[error.start]:02x}"
        raise RpcError(ErrorKind.PARSE, wrong) from None


def _decision(text: str) -> Raw:
    """To enter with one message of a person."""
    message = {
        "id": str(uuid.uuid4()),
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": text}],
    }
    return Raw(ecmascript.encode({"kind": "enter", "messages": [message]}))


def _failures(outcomes: Sequence[types.Outcome]) -> Iterator[types.ErrorObject]:
    """What went wrong and is not the end of it: of each reference, or of the whole message."""
    for outcome in outcomes:
        own = [reference.error for reference in outcome.references if reference.error is not None]
        told = [error for error in own if error != outcome.error]
        if outcome.error is not None:
            yield outcome.error
        yield from told


def _expanded(source: str, message: str, result: types.PreStepResult, placement: Placement) -> str:
    """The answer as one text. What was expanded before stays where nothing takes its place."""
    context_id = next((outcome.context_id for outcome in result.outcomes), None)
    texts = {
        each.id: each.content[0].text
        for each in ecmascript.decode(result.decision, _Decision).messages
    }
    context = None if context_id is None else texts.pop(context_id)
    (written,) = texts.values()
    if context is None:
        return written + source[len(message) :]
    return expanded(written, context, placement, line_end_of(source))


def _show(text: str) -> None:
    if sys.stdout.isatty():
        lines = text.replace("\r\n", "\n").split("\n")
        write_text("\n".join(map(printable, lines)), sys.stdout)
    else:
        streams.write(ecmascript.to_utf8(text), sys.stdout)
