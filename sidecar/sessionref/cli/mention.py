"""`sessionref mention ID | QUERY | --last`: what refers to a session, to be put into a message.

A query chooses as `list` does, and the label is that of a reference that an editor copies.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import anyio

from sessionref_protocol import codec, ecmascript, types
from sessionref_protocol.display import printable
from sessionref_protocol.errors import RpcError
from sessionref_protocol.mention import encode_uri, format_mention

from . import clipboard, streams
from .choosing import Choice, choose, last, late
from .exits import Exit, exit_code
from .options import config, seconds_to_wait, session_parser
from .terminal import complain, write_json
from .wiring import Parts, ask, asker


def command_line() -> argparse.ArgumentParser:
    """What `mention` can be told."""
    made = session_parser(
        "mention",
        "What refers to a session, to be put into a message. Of several sessions that a query "
        "finds, it is the first that `list` shows.",
    )
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "session",
        metavar="ID|QUERY",
        nargs="?",
        help="the session's id, a mention or URI of it, or a part of its id, folder or title",
    )
    which.add_argument(
        "--last",
        action="store_true",
        help="the session begun last in the current directory, or, if there is none, the first "
        "that `list` shows; no archived ones and no sub-agents",
    )
    made.add_argument("--id", action="store_true", help="the bare id of the session instead")
    made.add_argument("--copy", action="store_true", help="put it on the clipboard, too")
    return made


def run(arguments: Sequence[str]) -> int:
    """0 with the mention, 1 where there is no such session, 3 if that was not known in time."""
    made = command_line()
    options = made.parse_args(arguments)
    if options.session == "":
        made.error("ID|QUERY: it is empty")
    settled = config(options, os.environ, made)
    seconds = seconds_to_wait(made, options)
    agent = asker(options.agent)

    async def question(parts: Parts) -> Choice:
        with anyio.move_on_after(seconds):
            if options.last:
                return await last(parts, agent, seconds)
            return await choose(parts, agent, options.session, seconds)
        raise late(seconds)

    try:
        label, others = ask(settled, question)
    except RpcError as error:
        if options.json:
            write_json(codec.error_object(error))
        complain("mention", error.message)
        return exit_code(error)
    report = types.MentionReport(
        session_id=label.session_id,
        label=label.of_reference,
        mention=format_mention(label.session_id, label.of_reference),
        uri=encode_uri(label.session_id),
    )
    text = report.session_id if options.id else report.mention
    if options.json:
        write_json(report)
    else:
        shown = printable(text) if sys.stdout.isatty() else text
        streams.write(ecmascript.to_utf8(shown) + b"\n", sys.stdout)
    if others:
        _tell(f"{others} more match; this is {report.label} ({report.session_id})")
    return _copy(text) if options.copy else Exit.DONE


def _copy(text: str) -> Exit:
    try:
        _tell(f"copied, by {clipboard.copy(text)}")
    except clipboard.NoClipboard as error:
        complain("mention", str(error))
        return Exit.FAILED
    return Exit.DONE


def _tell(text: str) -> None:
    """What only somebody who looks on wants to know."""
    if sys.stderr.isatty():
        complain("mention", text)
