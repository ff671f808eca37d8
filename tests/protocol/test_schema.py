"""The schemas that are handed out are those of the types."""

from pathlib import Path

from sessionref_protocol.schema import documents

SCHEMAS = Path(__file__).parents[2] / "schemas"


def test_the_schemas_in_the_repository_are_those_of_the_types() -> None:
    assert {path.name: path.read_bytes() for path in SCHEMAS.iterdir()} == documents()
