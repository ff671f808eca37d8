"""One short function per method: wire -> operation -> wire.

Translates shapes and merges configurations, nothing else: what an operation does is the
resolver's, who gets the answer is the dispatcher's. Source: the contract, sections 5 and 6.
"""

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from sessionref_protocol import ecmascript, mention, types
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.methods import METHODS, decode_params

from . import __version__, answers
from .config import EVERYTHING, Config, Scope, Settings, Workspaces
from .dispatcher import Awaited, Call, Dispatcher, Heeded, Plain, Read, Route
from .host import WireHost
from .reference import candidates, prestep, transcript
from .reference.glance import Glance
from .reference.preview import Captured, read_captured
from .reference.references import Reference, invalid_mention, read_references
from .resolver import Label, PlaceInSession, Resolver, Search
from .sessions.corpus import Corpus
from .sessions.live import LiveStore
from .sessions.workers import Workers
from .stdio import Outlet

_PROGRESS_SECONDS: Final = 0.1
"""Progress is told at most this often."""


_NOTHING_KNOWN: Final = types.IndexState(state="memory", sessions=0, folded=0, pending=0)


class Handlers:
    """Everything that a host can ask; holds what `initialize` agreed on."""

    def __init__(
        self,
        config: Config,
        corpus: Corpus,
        resolver: Resolver,
        workers: Workers,
        index: Callable[[], types.IndexState] = lambda: _NOTHING_KNOWN,
    ) -> None:
        """`index`: what `status` says of what is remembered."""
        self._config = config
        self._settings = config.settings
        self._corpus = corpus
        self._resolver = resolver
        self._workers = workers
        self._index = index
        self._started = time.monotonic()
        self._dispatcher: Dispatcher
        self._outlet: Outlet

    def attach(self, dispatcher: Dispatcher, outlet: Outlet) -> None:
        """Tell `status` whom to ask."""
        self._dispatcher = dispatcher
        self._outlet = outlet

    def routes(self) -> dict[str, Route]:
        """How each method is answered, by its name."""
        awaited: dict[str, Awaited] = {
            "initialize": self.initialize,
            "preStep": self.pre_step,
            "listCandidates": self.list_candidates,
            "prepare": self.prepare,
            "preview": self.preview,
            "readSnapshot": self.read_snapshot,
            "status": self.status,
        }
        plain: dict[str, Plain] = {
            "describeTranscript": describe_transcript,
            "parseText": parse_text,
            "formatMention": format_mention,
        }
        heeded: dict[str, Heeded] = {"sessions/changed": self.sessions_changed}
        return {
            **{name: Route(_reader(name), awaited=handle) for name, handle in awaited.items()},
            **{name: Route(_reader(name), plain=handle) for name, handle in plain.items()},
            **{name: Route(_reader(name), heeded=handle) for name, handle in heeded.items()},
        }

    async def initialize(self, params: types.InitializeParams, _: Call) -> types.InitializeResult:
        """Set ceilings and say what this program is and can."""
        self._settings = self._settings_of(params.config)
        limits = self._config.limits
        if params.capabilities is not None and params.capabilities.live_sessions:
            host = WireHost(self._dispatcher, limits.host_answer_seconds)
            self._corpus.go_live(LiveStore(host, self._workers))
        return types.InitializeResult(
            protocol_version=types.PROTOCOL_VERSION,
            server_info=types.ServerInfo(name="sessionref", version=__version__),
            capabilities=types.ServerCapabilities(
                methods=[
                    method.name
                    for method in METHODS.values()
                    if method.direction != "sidecar-to-host"
                ],
                policies=sorted(prestep.POLICIES),
            ),
            limits=msgspec.convert(limits, types.Limits, from_attributes=True),
            roots=answers.roots(await self._resolver.roots()),
        )

    async def glance(
        self, agent: types.Agent, session_id: str, config: types.ConfigInput | None
    ) -> Glance:
        """What a person may see of a session. No method: editors ask for it."""
        settings = self._settings_of(config)
        return await self._resolver_for(agent, settings).glance(session_id, settings)

    async def label(
        self, agent: types.Agent, session_id: str, config: types.ConfigInput | None
    ) -> Label:
        """What to call a session. No method: editors ask for it."""
        return await self._resolver_for(agent, self._settings_of(config)).label(session_id)

    def sessions_changed(self, params: types.SessionsChangedParams, _: Call) -> None:
        """Believe what the host says of its sessions, until it says something else."""
        headers = params.sessions
        self._corpus.live_changed(
            None if headers is None else [bytes(header) for header in headers]
        )

    async def pre_step(self, params: types.PreStepParams, call: Call) -> types.PreStepResult:
        """Rewrite mentions and insert snapshots."""
        settings = self._settings_of(params.config)
        assembled = await self._resolver_for(params.agent, settings).pre_step(
            params.agent.id,
            params.decision,
            self._policy(params.policy),
            settings,
            _deadline(call, params.deadline_ms),
        )
        return types.PreStepResult(
            decision=assembled.decision,
            outcomes=[answers.outcome(outcome) for outcome in assembled.outcomes],
        )

    async def list_candidates(
        self, params: types.ListCandidatesParams, call: Call
    ) -> types.ListCandidatesResult:
        """List what could be referred to."""
        settings = self._settings_of(params.config)
        limit = settings.candidates(params.limit or None, self._settings)
        if not settings.is_enabled:
            return types.ListCandidatesResult(candidates=[], is_incomplete=False, total=0)
        with _Progress(call, params.work_done_token) as progress:
            found = await self._resolver_for(params.agent, settings).find(
                _search(params, limit, settings),
                _deadline(call, params.deadline_ms),
                progress.report,
            )
        return types.ListCandidatesResult(
            candidates=[answers.candidate(candidate) for candidate in found.candidates],
            is_incomplete=not found.is_complete,
            total=found.total,
        )

    async def prepare(self, params: types.PrepareParams, call: Call) -> types.PrepareResult:
        """Make one context message of the referenced sessions."""
        settings = self._settings_of(params.config)
        references = read_references(ecmascript.decode_any(raw) for raw in params.references)
        context = await self._resolver_for(params.agent, settings).prepare(
            params.agent.id,
            references,
            settings,
            _deadline(call, params.deadline_ms),
        )
        return types.PrepareResult(
            content=params.content,
            additional_context=UNSET if context is None else Raw(ecmascript.encode(context)),
        )

    async def preview(self, params: types.PreviewParams, call: Call) -> types.PreviewResult:
        """Say what would become of references, or of the mentions in a text."""
        if (params.text is None) == (params.references is None):
            raise RpcError(
                ErrorKind.INVALID_PARAMS,
                "Either `text` or `references` is to be given.",
                field="text" if params.text is None else "references",
            )
        settings = self._settings_of(params.config)
        values = [ecmascript.decode_any(raw) for raw in params.references or ()]
        found = await self._resolver_for(params.agent, settings).preview(
            params.agent.id,
            read_references(values) if params.text is None else _mentioned(params.text),
            read_captured(values),
            settings,
            _deadline(call, params.deadline_ms),
        )
        return answers.preview(found)

    async def read_snapshot(
        self, params: types.ReadSnapshotParams, call: Call
    ) -> types.ReadSnapshotResult:
        """Read a page of a session."""
        settings = self._settings_of(params.config)
        place = PlaceInSession(
            session_id=params.session_id,
            offset=params.offset or 0,
            limit=params.limit,
            max_bytes=self._config.limits.max_page_bytes,
            after=_captured(params),
        )
        found = await self._resolver_for(params.agent, settings).read_page(
            params.agent.id,
            place,
            settings,
            _deadline(call, params.deadline_ms),
        )
        return answers.page(params.session_id, found)

    async def status(self, _: types.EmptyParams, __: Call) -> types.StatusResult:
        """Say how the process and its roots are."""
        in_flight = self._dispatcher.in_flight - 1
        roots = await self._resolver.roots()
        return types.StatusResult(
            version=__version__,
            uptime_ms=int((time.monotonic() - self._started) * 1000),
            requests_in_flight=in_flight,
            queued_output_bytes=self._outlet.queued,
            abandoned_reads=self._workers.abandoned,
            roots=answers.roots(roots),
            index=self._index(),
        )

    def _settings_of(self, given: types.ConfigInput | None) -> Settings:
        """The ceilings, made stricter by what a request says."""
        if given is None:
            return self._settings
        return self._settings.stricter(
            Settings(
                max_references=given.max_references,
                max_reference_bytes=given.max_reference_bytes,
                candidate_limit=given.candidate_limit,
                enabled=given.enabled,
                salvage=given.salvage,
                context_window=given.context_window,
                omissions=given.omissions,
                renamed_roots=given.renamed_roots,
                scope=_scope(given.scope),
            )
        )

    def _resolver_for(self, agent: types.Agent, settings: Settings) -> Resolver:
        """The operations, as far as the scope reaches: no method of a host goes around it."""
        return self._resolver.within(settings.scope, agent.cwd, settings.renamed_roots or {})

    def _policy(self, given: str | types.PolicyInput | None) -> prestep.Policy:
        if isinstance(given, types.PolicyInput):
            return prestep.Policy(given.placement, given.on_failure)
        return prestep.POLICIES[given or self._config.policy]


def describe_transcript(
    params: types.DescribeTranscriptParams, _: Call
) -> types.DescribeTranscriptResult:
    """Tell whose the recall messages of a transcript are, and what to show for them."""
    return answers.described(transcript.describe(params.messages))


def parse_text(params: types.ParseTextParams, _: Call) -> types.ParseTextResult:
    """Find the mentions of a text."""
    try:
        parsed = mention.parse(params.text)
    except mention.MalformedMention as error:
        raise invalid_mention(error) from None
    return types.ParseTextResult(
        text=parsed.text,
        references=[
            types.ParsedReference(
                session_id=hit.session_id, label=hit.label, start=hit.start, end=hit.end
            )
            for hit in parsed.references
        ],
    )


def format_mention(params: types.FormatMentionParams, _: Call) -> types.FormatMentionResult:
    """Write the mention of a session."""
    return types.FormatMentionResult(
        mention=mention.format_mention(params.session_id, params.label),
        uri=mention.encode_uri(params.session_id),
    )


def _reader(name: str) -> Read:
    return partial(decode_params, METHODS[name])


def _mentioned(text: str) -> Iterator[Reference]:
    """The references that a text's mentions make. Raises `RpcError` (`INVALID_REFERENCE`)."""
    try:
        hits = mention.parse(text).references
    except mention.MalformedMention as error:
        raise invalid_mention(error, field="text") from None
    for hit in hits:
        yield Reference(hit.session_id, hit.label)


def _captured(params: types.ReadSnapshotParams) -> Captured | None:
    """What the page before was read from, where the host says it."""
    if params.captured_through_seq is UNSET:
        return None
    version = params.captured_format_version
    return Captured(
        captured_through_seq=params.captured_through_seq,
        captured_format_version=None if version is UNSET else version,
    )


class _Progress:
    """`$/progress` of one request: begin, now and then a report, and an end whatever happens."""

    def __init__(self, call: Call, token: types.Token | None) -> None:
        self._call = call
        self._token = token
        self._last = -math.inf
        self.report: Callable[[int, int], None] | None = None if token is None else self._report

    def __enter__(self) -> "_Progress":
        self._tell(types.ProgressValue(kind="begin"))
        return self

    def __exit__(self, *_: object) -> None:
        self._tell(types.ProgressValue(kind="end"))

    def _report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PROGRESS_SECONDS:
            self._last = now
            self._tell(types.ProgressValue(kind="report", done=done, total=total))

    def _tell(self, value: types.ProgressValue) -> None:
        if self._token is not None:
            self._call.report(types.ProgressParams(token=self._token, value=value))


def _deadline(call: Call, milliseconds: int | None) -> float:
    return math.inf if milliseconds is None else call.received_at + milliseconds / 1000


def _scope(given: types.ScopeInput | None) -> Scope:
    if given is None:
        return EVERYTHING
    workspaces = given.workspaces
    if isinstance(workspaces, list):
        bounds: tuple[Workspaces, ...] = (frozenset(workspaces),)
    else:
        bounds = () if workspaces is None else (workspaces,)
    return Scope(
        workspaces=bounds,
        archived=given.archived is not False,
        subagents=given.subagents is not False,
        deny=frozenset(given.deny or ()),
    )


def _search(params: types.ListCandidatesParams, limit: int, settings: Settings) -> Search:
    include = params.include or types.Include()
    return Search(
        agent_id=params.agent.id,
        cwd=params.agent.cwd,
        query=params.query or "",
        limit=limit,
        filter=candidates.Filter(
            subagents=include.subagents is not False,
            archived=include.archived is not False,
            same_workspace_only=params.workspace == "same",
        ),
        resolved=params.affinity == "resolved",
        renamed_roots=settings.renamed_roots or {},
    )
