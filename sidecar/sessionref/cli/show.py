"""`sessionref show ID`: the snapshot that a model would see of a session, and its statistics.

Asks what a host would ask with `prepare`. The session is given by its id, or by a mention or a
URI as it stands in a text.
"""

import os
import sys
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from sessionref.reference.snapshot import ContextMessage, RecallReference
from sessionref_protocol import codec, ecmascript, mention, types
from sessionref_protocol.display import printable
from sessionref_protocol.errors import RpcError

from .checkup import uncertainty
from .options import config, shell_parser
from .terminal import complain, screen, write, write_text
from .wiring import FROM_A_SHELL, Parts, ask, nobody


def run(arguments: Sequence[str]) -> int:
    """0 with the snapshot, 1 with the reason why there is none."""
    made = shell_parser(
        "show",
        "What a model would see of a session. Where stdout is no terminal, it gets exactly that "
        "text, and stderr the statistics.",
    )
    made.add_argument("session", metavar="ID", help="the session's id, or a mention or URI of it")
    options = made.parse_args(arguments)
    settled = config(options, os.environ, made)
    params = types.PrepareParams(
        agent=nobody(),
        content=Raw(b"[]"),
        references=[Raw(ecmascript.encode(_reference(options.session)))],
    )

    async def question(parts: Parts) -> types.PrepareResult:
        return await parts.handlers.prepare(params, FROM_A_SHELL)

    try:
        context = ask(settled, question).additional_context
    except RpcError as error:
        if options.json:
            write(ecmascript.encode(codec.error_object(error)) + b"\n")
        complain("show", error.message)
        return 1
    assert isinstance(context, Raw)  # one source was asked for
    message = ecmascript.decode(context, ContextMessage)
    (reference,) = message.source.references
    if options.json:
        write(ecmascript.encode(_report(context, reference)) + b"\n")
    else:
        _show(message.content[0].text, reference)
    return 0


def _reference(text: str) -> types.ReferenceInput:
    """The session that is meant: a text that is one mention and nothing else, or else an id."""
    pasted = text.strip()
    try:
        found = mention.parse(pasted).references
    except mention.MalformedMention:
        found = ()
    match found:
        case (only,) if only.start == 0 and only.end == ecmascript.utf16_length(pasted):
            return types.ReferenceInput(session_id=only.session_id, label=only.label)
    return types.ReferenceInput(session_id=text)


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
        write(text.encode())
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
