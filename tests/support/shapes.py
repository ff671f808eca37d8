"""JSON as the published schemas have it."""

import json
from pathlib import Path

import jsonschema
from referencing import Registry, Resource

FOLDER = Path(__file__).parents[2] / "schemas"


def _registry() -> Registry[object]:
    files = {path.name: json.loads(path.read_bytes()) for path in FOLDER.glob("*.json")}
    del files["openrpc.json"]
    return Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in files.items()
    )


_SCHEMAS = _registry()


def check_shape(name: str, value: object) -> None:
    """Fails unless `schemas/<name>.json` allows the value, and knows all of its members."""
    validator = jsonschema.Draft202012Validator({"$ref": f"{name}.json"}, registry=_SCHEMAS)
    validator.validate(value)
    schema = _SCHEMAS.contents(f"{name}.json")
    assert isinstance(schema, dict)
    assert isinstance(value, dict)
    assert value.keys() <= schema["properties"].keys()
