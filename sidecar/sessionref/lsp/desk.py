"""What one editor has before it: its documents, its settings, and whom to ask of sessions.

The questions that several features share, each asked of the handlers as a host would ask it: in
the document's workspace, for the session that the settings name, within the settings' bounds.
Knows no method of the protocol but the two that tell people something.
"""

from collections.abc import Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from lsprotocol import types as lsp

from sessionref.dispatcher import Call, Dispatcher, NoAnswer
from sessionref.handlers import Handlers
from sessionref.reference.glance import Glance
from sessionref.sessions.workers import Workers
from sessionref_protocol import ecmascript, types
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.mention import Hit

from . import shapes
from .documents import Document, Documents, path_of
from .files import Found
from .listing import Listing
from .mentions import references
from .settings import SECTION, Settings, read_settings

_ANSWER_SECONDS: Final = 60.0
"""How long an editor may think about what it is asked; it may ask its user."""


P = TypeVar("P")


class Asked(NamedTuple, Generic[P]):
    """A request about a document, as it came in."""

    params: P
    uri: str
    version: int | None
    """Of the document; None where it is not open."""


class Desk:
    """Of the editor at the other end of a dispatcher. Before `meet` it holds nothing."""

    def __init__(self, handlers: Handlers, dispatcher: Dispatcher, workers: Workers) -> None:
        self._listing = Listing(workers)
        self.handlers: Final = handlers
        self.dispatcher: Final = dispatcher
        self.client = shapes.Client()
        self.settings = Settings()
        self.documents = Documents(None, (), self.client.encoding)
        self._told: set[tuple[str, str]] = set()

    def meet(self, client: shapes.Client) -> None:
        """The editor introduces itself."""
        self.client = client
        self.documents = Documents(client.root_uri, client.folders, client.encoding)
        self.configure({})

    def close(self) -> None:
        """The editor is gone."""
        self._listing.close()

    def asked(self, params: P, uri: str) -> Asked[P]:
        """A request about a document as it is now."""
        document = self.documents.open_document(uri)
        return Asked(params, uri, None if document is None else document.version)

    def document(self, asked: Asked[Any]) -> Document | None:
        """The document, if it was open. Raises `RpcError` (`CANCELLED`) if it is another now."""
        document = self.documents.open_document(asked.uri)
        if asked.version is None:
            return None
        if document is None or document.version != asked.version:
            raise RpcError(ErrorKind.CANCELLED, "The document has changed since.")
        return document

    def configure(self, changed: object) -> None:
        """Take over settings; those that are not named stay as the editor started us with."""
        given = self.client.options
        if isinstance(changed, dict) and (isinstance(given, dict) or not given):
            given = {**(given if isinstance(given, dict) else {}), **changed}
        self.settings, problems = read_settings(given)
        for problem in problems:
            self.tell_once(f"sessionref ignores the setting `{problem.name}`: {problem.words}.")

    async def ask_for_settings(self) -> None:
        """Take over the settings that the editor has for us."""
        params = lsp.ConfigurationParams([lsp.ConfigurationItem(section=SECTION)])
        answer = await self.ask("workspace/configuration", params)
        if isinstance(answer, list):
            self.configure(next(iter(answer), None))

    async def ask(self, method: str, params: object) -> object:
        """What the editor answers; None where it does not."""
        try:
            answer = await self.dispatcher.ask(method, shapes.plain(params), _ANSWER_SECONDS)
        except NoAnswer:
            return None
        return ecmascript.decode_any(answer)

    def tell_once(self, message: str) -> None:
        """Warn the user of something that will not change by itself."""
        if ("warning", message) not in self._told:
            self._told.add(("warning", message))
            self.tell(lsp.MessageType.Warning, message)

    def tell(self, kind: lsp.MessageType, message: str) -> None:
        """Show the user a message."""
        params = lsp.ShowMessageParams(type=kind, message=message)
        self.dispatcher.notify("window/showMessage", shapes.plain(params))

    def agent(self, uri: str) -> types.Agent:
        """Who asks: the session of the settings, or nobody's; in the document's workspace."""
        return types.Agent(id=self.settings.agent_id or "", cwd=self.folder(uri))

    def folder(self, uri: str) -> str | None:
        """The innermost workspace folder that the document is in, else the first one."""
        roots = [folder.uri for folder in self.documents.folders.values()]
        paths = [path for path in map(path_of, roots or [self.documents.root_uri]) if path]
        own = path_of(uri) or ""
        around = [path for path in paths if own == path or own.startswith(path + "/")]
        return max(around, key=len) if around else next(iter(paths), None)

    async def candidates(self, uri: str, query: str, call: Call) -> Sequence[types.Candidate]:
        """The sessions that a query in a document may mean, best first."""
        settings = self.settings
        found = await self.handlers.list_candidates(
            types.ListCandidatesParams(
                agent=self.agent(uri),
                query=query,
                include=types.Include(subagents=settings.subagents, archived=settings.archived),
                workspace=settings.workspace,
                affinity="resolved",
                config=settings.config,
            ),
            call,
        )
        return found.candidates

    async def files(self, uri: str, query: str) -> Sequence[Found]:
        """The files of the document's workspace that a query may mean, best first."""
        folder = self.folder(uri)
        return () if folder is None else await self._listing.find(folder, query)

    async def glance(self, uri: str, session_id: str) -> Glance | RpcError:
        """What is to be seen of a session, or why nothing is."""
        try:
            return await self.handlers.glance(self.agent(uri), session_id, self.settings.config)
        except RpcError as error:
            return error

    async def new_title(self, uri: str, hit: Hit) -> str | None:
        """What a mention would be called today; None where it is called so, or nobody knows."""
        if hit.session_id is None:
            return None
        agent, config = self.agent(uri), self.settings.config
        try:
            label = await self.handlers.label(agent, hit.session_id, config)
        except RpcError:
            return None
        today = hit.session_id if label.title is None else label.title
        return None if today == (hit.session_id if hit.label is None else hit.label) else today

    async def preview(self, uri: str, hits: Sequence[Hit], call: Call) -> types.PreviewResult:
        """What would become of mentions."""
        params = types.PreviewParams(
            agent=self.agent(uri), references=references(hits), config=self.settings.config
        )
        return await self.handlers.preview(params, call)

    async def context(self, uri: str, hits: Sequence[Hit], call: Call) -> str | None:
        """The text of the context that mentions make; None where there are none."""
        params = types.PrepareParams(
            agent=self.agent(uri),
            content=shapes.EMPTY_LIST,
            references=references(hits),
            config=self.settings.config,
        )
        prepared = await self.handlers.prepare(params, call)
        return shapes.text_of(prepared.additional_context)
