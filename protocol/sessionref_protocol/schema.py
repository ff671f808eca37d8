"""METHODS -> {file name: bytes}: one JSON Schema (2020-12) a type, and one OpenRPC document.

`python -m sessionref_protocol` writes them into a folder, `--check` fails where they differ.
The types are the source, the schemas the product: nothing in `schemas/` is written by hand.
"""

import ast
import inspect
import textwrap
from typing import Any, Final

import msgspec

from . import methods, types
from .errors import ErrorKind

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_OPENRPC: Final = "openrpc.json"


def documents() -> dict[str, bytes]:
    """Every generated file by its name, as it should stand in `schemas/`."""
    structs = _structs()
    _, components = msgspec.json.schema_components(structs, ref_template="{name}.json")
    files: dict[str, bytes] = {}
    for struct in structs:
        schema = components[struct.__name__]
        _describe(struct, schema)
        files[f"{struct.__name__}.json"] = _text({"$schema": _DIALECT, **schema})
    files[_OPENRPC] = _text(_openrpc())
    return dict(sorted(files.items()))


def _structs() -> list[type[msgspec.Struct]]:
    public = [
        value
        for name, value in vars(types).items()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and not name.startswith("_")
    ]
    return sorted(public, key=lambda struct: struct.__name__)


def _describe(struct: type[msgspec.Struct], schema: dict[str, Any]) -> None:
    """Carry the documentation strings that follow the fields over into the schema."""
    wire_names = {field.name: field.encode_name for field in msgspec.structs.fields(struct)}
    for owner in struct.__mro__:
        if owner.__module__ != types.__name__:
            continue
        for name, doc in _field_docs(owner).items():
            schema["properties"][wire_names[name]].setdefault("description", doc)


def _field_docs(owner: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            docs[field.target.id] = inspect.cleandoc(after.value.value)
    return docs


def _openrpc() -> dict[str, Any]:
    return {
        "openrpc": "1.3.2",
        "info": {
            "title": "sessionref",
            "version": str(types.PROTOCOL_VERSION),
            "description": "Refer from one agent session to another, over stdio.",
        },
        "methods": [_openrpc_method(method) for method in methods.METHODS.values()],
        "components": {
            "errors": {
                kind.name: {
                    "code": kind.value.code,
                    "message": kind.value.when,
                    "data": {"code": kind.value.name, "retryable": kind.value.retryable},
                }
                for kind in ErrorKind
            }
        },
    }


def _openrpc_method(method: methods.Method) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": method.name,
        "summary": method.doc,
        "paramStructure": "by-name",
        "params": [
            {
                "name": field.encode_name,
                "required": field.required,
                "schema": {
                    "$ref": f"{method.params.__name__}.json#/properties/{field.encode_name}"
                },
            }
            for field in msgspec.structs.fields(method.params)
        ],
        "x-direction": method.direction,
    }
    if method.kind == "request":
        result: dict[str, Any] = (
            {"type": "null"}
            if method.result is None
            else {"$ref": f"{method.result.__name__}.json"}
        )
        described["result"] = {"name": "result", "schema": result}
        described["errors"] = [{"$ref": f"#/components/errors/{kind.name}"} for kind in ErrorKind]
    return described


def _text(document: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
