"""The examples for editors, where the editor itself can't be run: against what is documented.

Sources: Helix's book, "Languages"; Zed's documentation, "Developing Extensions" and "Language
Extensions"; VS Code's, "Extension Manifest" and "Configuration".
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from sessionref.lsp import actions
from sessionref.lsp.settings import Settings, read_settings
from sessionref_protocol import types

EXAMPLES = Path(__file__).parents[2] / "examples" / "editors"
COMMAND = ["sessionref", "--stdio"]

OWN = {field.encode_name for field in msgspec.structs.fields(Settings)} - {"config"}
SHARED = {field.encode_name for field in msgspec.structs.fields(types.ConfigInput)}

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """An object that has no other members."""
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


HELIX = closed(
    [],
    **{
        "language-server": {
            "type": "object",
            "additionalProperties": closed(
                ["command"],
                command=TEXT,
                args=TEXTS,
                config={"type": "object"},
                timeout={"type": "integer"},
                environment={"type": "object", "additionalProperties": TEXT},
                **{"required-root-patterns": TEXTS},
            ),
        },
        "language": {
            "type": "array",
            "items": closed(["name"], name=TEXT, **{"language-servers": TEXTS}),
        },
    },
)

ZED = closed(
    ["id", "name", "version", "schema_version", "authors", "description"],
    id={"type": "string", "pattern": "^[a-z0-9-]+$"},
    name=TEXT,
    version={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    schema_version={"const": 1},
    authors={**TEXTS, "minItems": 1},
    description=TEXT,
    repository=TEXT,
    language_servers={
        "type": "object",
        "additionalProperties": closed(
            ["languages"],
            name=TEXT,
            languages={**TEXTS, "minItems": 1},
            language_ids={"type": "object", "additionalProperties": TEXT},
            code_action_kinds=TEXTS,
        ),
    },
)

VSCODE_SETTING = closed(
    ["default"],
    type={"anyOf": [TEXT, TEXTS]},
    default={},
    enum={"type": "array"},
    items={"type": "object"},
    minItems={"type": "integer"},
    minimum={"type": "integer"},
    maximum={"type": "integer"},
    scope={"enum": ["application", "machine", "machine-overridable", "window", "resource"]},
    description=TEXT,
    markdownDescription=TEXT,
)

VSCODE = closed(
    ["name", "version", "publisher", "engines", "main", "contributes"],
    name={"type": "string", "pattern": "^[a-z0-9-]+$"},
    displayName=TEXT,
    description=TEXT,
    version={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    publisher=TEXT,
    license=TEXT,
    engines=closed(["vscode"], vscode={"type": "string", "pattern": r"^\^1\.\d+\.0$"}),
    categories={"type": "array", "items": {"enum": ["Other"]}},
    main=TEXT,
    activationEvents={"type": "array", "items": {"type": "string", "pattern": "^onLanguage:"}},
    capabilities=closed(
        [],
        untrustedWorkspaces=closed(["supported"], supported={"enum": [True, False, "limited"]}),
        virtualWorkspaces={"type": "boolean"},
    ),
    contributes=closed(
        [],
        commands={
            "type": "array",
            "items": closed(["command", "title"], command=TEXT, title=TEXT, category=TEXT),
        },
        configuration=closed(
            ["title", "properties"],
            title=TEXT,
            properties={"type": "object", "additionalProperties": VSCODE_SETTING},
        ),
    ),
    dependencies={"type": "object", "additionalProperties": TEXT},
)


def read(*path: str) -> Any:
    file = EXAMPLES.joinpath(*path)
    text = file.read_text()
    return json.loads(text) if file.suffix == ".json" else tomllib.loads(text)


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        (("helix", "languages.toml"), HELIX),
        (("zed", "extension.toml"), ZED),
        (("vscode", "package.json"), VSCODE),
    ],
    ids=["helix", "zed", "vscode"],
)
def test_an_example_is_as_documented(path: tuple[str, str], schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema).validate(read(*path))


def test_helix_starts_the_program_with_settings_that_it_has() -> None:
    found = read("helix", "languages.toml")
    server = found["language-server"]["sessionref"]
    assert [server["command"], *server["args"]] == COMMAND
    assert server["config"].keys() <= OWN | SHARED
    assert read_settings(server["config"])[1] == []
    assert all("sessionref" in language["language-servers"] for language in found["language"])


def test_zed_starts_the_program() -> None:
    cargo = read("zed", "Cargo.toml")
    assert cargo["lib"]["crate-type"] == ["cdylib"]  # what is compiled to WebAssembly
    assert cargo["package"]["version"] == read("zed", "extension.toml")["version"]
    source = (EXAMPLES / "zed" / "src" / "lib.rs").read_text()
    assert re.findall(r'which\("([^"]+)"\)', source) + re.findall(r'vec!\["([^"]+)"', source) == (
        COMMAND
    )


def test_the_settings_of_vs_code_are_settings() -> None:
    properties = read("vscode", "package.json")["contributes"]["configuration"]["properties"]
    defaults = {
        name.removeprefix("sessionref."): each["default"] for name, each in properties.items()
    }
    assert defaults.pop("command") == COMMAND
    assert defaults.keys() <= OWN | SHARED
    assert read_settings(defaults) == (Settings(), [])
    for each in properties.values():
        jsonschema.Draft202012Validator(each).validate(each["default"])


def test_the_readme_lists_the_settings_and_the_commands() -> None:
    text = (EXAMPLES / "README.md").read_text()
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert named == OWN | set(actions.COMMANDS) | {"maxReferences", "maxReferenceBytes"}
