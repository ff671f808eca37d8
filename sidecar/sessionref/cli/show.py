"""`sessionref show ID`: the snapshot that a model would see of a session, and its statistics.

Asks what a host would ask with `prepare`. The session is given by its id, or by a mention or a
URI as it stands in a text.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from sessionref.reference.snapshot import ContextMessage, RecallReference
from sessionref_protocol import codec, ecmascript, types
from sessionref_protocol.display import printable
from sessionref_protocol.errors import RpcError

from . import streams
from .checkup import uncertainty
from .choosing import as_written
from .exits import Exit, exit_code
from .options import config, seconds_to_wait, session_parser
from .terminal import complain, screen, write_json, write_text
from .wiring import Parts, ask, asker, call


def command_line() -> argparse.ArgumentParser:
    """What `show` can be told."""
    made = session_parser(
        "show",
        "What a model would see of a session. Where stdout is no terminal, it gets exactly that "
        "text, and stderr the statistics.",
    )
    made.add_argument("session", metavar="ID", help="the session's id, or a mention or URI of it")
    return made


def run(arguments: Sequence[str]) -> int:
    """0 with the snapshot, 1 with the reason why there is none, 3 if it was not read in time."""
    made = command_line()
    options = made.parse_args(arguments)
    settled = config(options, os.environ, made)
    params = types.PrepareParams(
        agent=asker(options.agent),
        content=Raw(b"[]"),
        references=[Raw(ecmascript.encode(as_written(options.session)))],
        deadline_ms=1000 * seconds_to_wait(made, options),
    )

    async def question(parts: Parts) -> types.PrepareResult:
        return await parts.handlers.prepare(params, call())

    try:
        context = ask(settled, question).additional_context
    except RpcError as error:
        if options.json:
            write_json(codec.error_object(error))
        complain("show", error.message)
        return exit_code(error)
    assert isinstance(context, Raw)  # one source was asked for
    message = ecmascript.decode(context, ContextMessage)
    (reference,) = message.source.references
    if options.json:
        write_json(_report(context, reference))
    else:
        _show(message.content[0].text, reference)
    return Exit.DONE


def _report(context: Raw, reference: RecallReference) -> types.ShowReport:
    return types.ShowReport(
        additional_context=context,
        stats=msgspec.convert(reference, types.Stats, from_attributes=True),
        degraded=msgspec.convert(
            reference.degraded or None, types.Degraded | None, from_attributes=True
        ),
    )


def _show(text: str, reference: RecallReference) -> None:
    if sys.stdout.isatty():
        write_text("\n".join(map(printable, text.split("\n"))) + "\n\n", sys.stdout)
        screen(sys.stdout).facts(reference.session_id, _facts(reference))
    else:
        streams.write(text.encode(), sys.stdout)
        screen(sys.stderr).facts(reference.session_id, _facts(reference))


def _facts(reference: RecallReference) -> Iterator[tuple[str, str]]:
    yield "messages", f"{reference.retained_messages} of {reference.original_messages}"
    yield (
        "left out",
        f"{reference.omitted_messages} messages, {reference.omitted_bytes} bytes of text",
    )
    yield "compacted", "yes" if reference.compacted else "no"
    through = reference.captured_through_seq
    yield "up to event", "none" if through is None else str(through)
    yield "format", f"v{reference.captured_format_version or 0}"
    if reference.degraded:
        yield "uncertain", uncertainty(reference.degraded)
