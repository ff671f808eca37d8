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


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """What an editor says of itself when it starts us."""

    root_uri: str | None = None
    folders: tuple[lsp.WorkspaceFolder, ...] = ()
    options: object = None
    """`initializationOptions`, as they are."""
    encoding: str = "utf-16"
    """The units of positions: the cheapest for us of those that it offers."""
    markdown: bool = False
    """It renders Markdown beside a completion item."""
    markdown_hover: bool = False
    label_details: bool = False
    apply_edit: bool = False
    versioned_edits: bool = False
    show_document: bool = False


def read_client(params: Raw | None) -> Client:
    """What is there and of the right shape."""
    given = ecmascript.decode_any(b"{}" if params is None else params)
    offered = _at(given, "capabilities", "general", "positionEncodings")
    known = [each for each in ("utf-32", "utf-8") if isinstance(offered, list) and each in offered]
    root = _at(given, "rootUri")
    if root is None and isinstance(path := _at(given, "rootPath"), str):
        root = "file://" + path
    item = "capabilities", "textDocument", "completion", "completionItem"
    workspace = "capabilities", "workspace"
    return Client(
        root_uri=root if isinstance(root, str) else None,
        folders=tuple(read_folders(_at(given, "workspaceFolders"))),
        options=_at(given, "initializationOptions"),
        encoding=known[0] if known else "utf-16",
        markdown=_has_markdown(_at(given, *item, "documentationFormat")),
        markdown_hover=_has_markdown(
            _at(given, "capabilities", "textDocument", "hover", "contentFormat")
        ),
        label_details=_at(given, *item, "labelDetailsSupport") is True,
        apply_edit=_at(given, *workspace, "applyEdit") is True,
        versioned_edits=_at(given, *workspace, "workspaceEdit", "documentChanges") is True,
        show_document=_at(given, "capabilities", "window", "showDocument", "support") is True,
    )


def read_folders(value: object) -> list[lsp.WorkspaceFolder]:
    """The folders of a list, those of another shape left out."""
    uris = [_at(each, "uri") for each in value] if isinstance(value, list) else []
    return [lsp.WorkspaceFolder(uri, uri) for uri in uris if isinstance(uri, str)]


def _has_markdown(formats: object) -> bool:
    return isinstance(formats, list) and "markdown" in formats


def _at(value: Any, *path: str) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
