"""The recorded answers of the defining system, as plain JSON values.

`tests/vectors/` holds them, the big ones gzipped. Lone surrogates arrive as they are.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "vectors"


@cache
def load(name: str) -> Any:
    """The whole document of one vector file: `load("mentions")["cases"]`. Do not change it."""
    plain = FOLDER / f"{name}.json"
    if plain.exists():
        return json.loads(plain.read_bytes())
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
