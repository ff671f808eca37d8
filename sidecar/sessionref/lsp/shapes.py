"""JSON to the protocol's types and back, through lsprotocol's converter.

Also what we read of an `initialize`: member by member, since a client that is newer than our types
must not be refused for members that we don't read. Decides nothing. Source: the language server
protocol 3.17.
"""

from typing import Any, Final, TypeVar

import msgspec
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from msgspec import UNSET, Raw, UnsetType
from pygls.uris import from_fs_path

from sessionref_protocol import ecmascript
from sessionref_protocol.errors import ErrorKind, RpcError

T = TypeVar("T")

_CONVERTER: Final = get_converter()


def read(kind: type[T], params: Raw | None) -> T:
    """Typed params. Raises `RpcError` (`INVALID_PARAMS`)."""
    value = ecmascript.decode_any(b"{}" if params is None else params)
    try:
        return _CONVERTER.structure(value, kind)
    except Exception:  # the converter has no exception of its own for this
        name = kind.__name__
        raise RpcError(ErrorKind.INVALID_PARAMS, f"The params are no {name}.") from None


def plain(value: object) -> object:
    """A typed value as dicts, lists, strings and numbers."""
    built: object = _CONVERTER.unstructure(value)
    return built


def answer(value: object) -> Raw | None:
    """A typed value as JSON; None for null."""
    return None if value is None else Raw(ecmascript.encode(plain(value)))


EMPTY_LIST: Final = Raw(b"[]")


def text_of(context: Raw | UnsetType) -> str | None:
    """The text of a context message; None where there is none."""
    if context is UNSET:
        return None
    (block,) = ecmascript.decode(context, _Context).content
    return block["text"]


class _Context(msgspec.Struct):
    content: list[dict[str, str]]


_ENCODINGS: Final = ("utf-8", "utf-16", "utf-32")
_EVERYBODYS_KINDS: Final = frozenset(range(1, 19))
"""Kinds of completion items that need not be declared."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """What an editor says of itself when it starts us."""

    process_id: int | None = None
    """The process that must not be outlived."""
    root_uri: str | None = None
    folders: tuple[lsp.WorkspaceFolder, ...] = ()
    options: object = None
    """`initializationOptions`, as they are."""
    encoding: str = "utf-16"
    """The units of positions: of those that it offers, the first."""
    markdown: bool = False
    """It renders Markdown beside a completion item."""
    markdown_hover: bool = False
    label_details: bool = False
    kinds: frozenset[int] = _EVERYBODYS_KINDS
    """Of completion items."""
    action_literals: bool = False
    """It takes code actions that are no commands."""
    configuration: bool = False
    """It can be asked for its settings."""
    apply_edit: bool = False
    versioned_edits: bool = False
    show_document: bool = False


def read_client(params: Raw | None) -> Client:
    """What is there and of the right shape."""
    given = ecmascript.decode_any(b"{}" if params is None else params)
    offered = _list(_at(given, "capabilities", "general", "positionEncodings"))
    process = _at(given, "processId")
    root = _at(given, "rootUri")
    if root is None and isinstance(path := _at(given, "rootPath"), str):
        root = from_fs_path(path)
    document = "capabilities", "textDocument"
    item = *document, "completion", "completionItem"
    kinds = _list(_at(given, *document, "completion", "completionItemKind", "valueSet"))
    workspace = "capabilities", "workspace"
    return Client(
        process_id=process if type(process) is int else None,
        root_uri=root if isinstance(root, str) else None,
        folders=tuple(read_folders(_at(given, "workspaceFolders"))),
        options=_at(given, "initializationOptions"),
        encoding=next((each for each in offered if each in _ENCODINGS), "utf-16"),
        markdown=_has_markdown(_at(given, *item, "documentationFormat")),
        markdown_hover=_has_markdown(_at(given, *document, "hover", "contentFormat")),
        label_details=_at(given, *item, "labelDetailsSupport") is True,
        kinds=frozenset(each for each in kinds if type(each) is int) or _EVERYBODYS_KINDS,
        action_literals=isinstance(
            _at(given, *document, "codeAction", "codeActionLiteralSupport"), dict
        ),
        configuration=_at(given, *workspace, "configuration") is True,
        apply_edit=_at(given, *workspace, "applyEdit") is True,
        versioned_edits=_at(given, *workspace, "workspaceEdit", "documentChanges") is True,
        show_document=_at(given, "capabilities", "window", "showDocument", "support") is True,
    )


def read_folders(value: object) -> list[lsp.WorkspaceFolder]:
    """The folders of a list, those of another shape left out."""
    uris = [_at(each, "uri") for each in _list(value)]
    return [lsp.WorkspaceFolder(uri, uri) for uri in uris if isinstance(uri, str)]


def _has_markdown(formats: object) -> bool:
    return "markdown" in _list(formats)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _at(value: Any, *path: str) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
