"""One short function per method: wire -> operation -> wire.

Translates shapes and merges configurations, nothing else: what an operation does is the
resolver's, who gets the answer is the dispatcher's. Source: the contract, sections 5 and 6.
"""

import math
import time
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from sessionref_protocol import codec, ecmascript, mention, types
from sessionref_protocol.methods import METHODS

from . import __version__
from .config import Config, Settings
from .dispatcher import Call, Dispatcher, Route
from .host import WireHost
from .reference import candidates, prestep, retention
from .reference.references import invalid_mention, read_references
from .resolver import Resolver, Search
from .sessions.corpus import Corpus
from .sessions.live import LiveStore
from .sessions.model import Degraded, RootState
from .sessions.workers import Workers
from .stdio import Outlet

_PROGRESS_SECONDS: Final = 0.1
"""Progress is told at most this often."""


class Handlers:
    """Everything that a host can ask; holds what `initialize` agreed on."""

    def __init__(
        self, config: Config, corpus: Corpus, resolver: Resolver, workers: Workers
    ) -> None:
        self._config = config
        self._settings = config.settings
        self._corpus = corpus
        self._resolver = resolver
        self._workers = workers
        self._started = time.monotonic()
        self._dispatcher: Dispatcher
        self._outlet: Outlet

    def attach(self, dispatcher: Dispatcher, outlet: Outlet) -> None:
        """Tell `status` whom to ask."""
        self._dispatcher = dispatcher
        self._outlet = outlet

    def routes(self) -> dict[str, Route]:
        """How each request is answered, by method name."""
        return {
            "initialize": Route(awaited=self.initialize),
            "preStep": Route(awaited=self.pre_step),
            "listCandidates": Route(awaited=self.list_candidates),
            "prepare": Route(awaited=self.prepare),
            "parseText": Route(plain=parse_text),
            "formatMention": Route(plain=format_mention),
            "status": Route(awaited=self.status),
            "sessions/changed": Route(plain=self.sessions_changed),
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
            roots=_roots(await self._resolver.roots()),
        )

    def sessions_changed(self, params: types.SessionsChangedParams, _: Call) -> None:
        """Believe what the host says of its sessions, until it says something else."""
        headers = params.sessions
        self._corpus.live_changed(
            None if headers is None else [bytes(header) for header in headers]
        )

    async def pre_step(self, params: types.PreStepParams, call: Call) -> types.PreStepResult:
        """Rewrite mentions and insert snapshots."""
        assembled = await self._resolver.pre_step(
            params.agent.id,
            params.decision,
            self._policy(params.policy),
            self._settings_of(params.config),
            _deadline(call, params.deadline_ms),
        )
        return types.PreStepResult(
            decision=assembled.decision,
            outcomes=[_outcome(outcome) for outcome in assembled.outcomes],
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
            found = await self._resolver.find(
                _search(params, limit, settings),
                _deadline(call, params.deadline_ms),
                progress.report,
            )
        return types.ListCandidatesResult(
            candidates=[_candidate(candidate) for candidate in found.candidates],
            is_incomplete=not found.is_complete,
            total=found.total,
        )

    async def prepare(self, params: types.PrepareParams, call: Call) -> types.PrepareResult:
        """Make one context message of the referenced sessions."""
        references = read_references(ecmascript.decode_any(raw) for raw in params.references)
        context = await self._resolver.prepare(
            params.agent.id,
            references,
            self._settings_of(params.config),
            _deadline(call, params.deadline_ms),
        )
        return types.PrepareResult(
            content=params.content,
            additional_context=UNSET if context is None else Raw(ecmascript.encode(context)),
        )

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
            roots=_roots(roots),
            index=types.IndexState(state="off"),
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
                renamed_roots=given.renamed_roots,
            )
        )

    def _policy(self, given: str | types.PolicyInput | None) -> prestep.Policy:
        if isinstance(given, types.PolicyInput):
            return prestep.Policy(given.placement, given.on_failure)
        return prestep.POLICIES[given or self._config.policy]


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


def _roots(roots: tuple[RootState, ...]) -> list[types.Root]:
    return [
        types.Root(
            path=root.path,
            sessions=root.sessions,
            strangers=root.strangers,
            problem=root.problem,
        )
        for root in roots
    ]


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


def _candidate(candidate: candidates.Candidate) -> types.Candidate:
    entry, header = candidate.entry, candidate.entry.header
    return types.Candidate(
        session_id=candidate.session_id,
        label=candidate.label,
        created_at=candidate.created_at,
        mention=candidate.mention,
        display=types.Display(label=candidate.display.label, cwd=candidate.display.cwd),
        cwd=candidate.cwd,
        display_title=candidate.display_title,
        same_workspace=candidate.same_workspace,
        format_version=header.version,
        origin=header.origin,
        parent_session=header.parent_session,
        delegation_depth=header.delegation_depth,
        agent_preset=header.agent_preset,
        archived=entry.archived,
        live=entry.live,
        persisted=entry.persisted,
        running=entry.running,
        degraded=None if candidate.degraded is None else _degraded(candidate.degraded),
    )


def _outcome(outcome: prestep.Outcome) -> types.Outcome:
    return types.Outcome(
        message_index=outcome.message_index,
        message_id=outcome.message_id,
        status=outcome.status,
        context_id=outcome.context_id,
        references=[_reference_outcome(reference) for reference in outcome.references],
        error=None if outcome.error is None else codec.error_object(outcome.error),
    )


def _reference_outcome(reference: prestep.ReferenceOutcome) -> types.ReferenceOutcome:
    return types.ReferenceOutcome(
        session_id=reference.session_id,
        label=reference.label,
        input_index=reference.input_index,
        status=reference.status,
        stats=None if reference.stats is None else _stats(reference.stats),
        error=None if reference.error is None else codec.error_object(reference.error),
        degraded=None if reference.degraded is None else _degraded(reference.degraded),
    )


def _stats(stats: retention.Stats) -> types.Stats:
    return msgspec.convert(stats, types.Stats, from_attributes=True)


def _degraded(degraded: Degraded) -> types.Degraded:
    return msgspec.convert(degraded, types.Degraded, from_attributes=True)
