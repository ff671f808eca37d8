"""`python -m sessionref_protocol [--check] DIR`: write the schemas, or fail where they differ."""

import argparse
import sys
from pathlib import Path

from .schema import documents


def main() -> int:
    """Exit code 0, or 1 with the names of the files that differ."""
    parser = argparse.ArgumentParser(prog="python -m sessionref_protocol", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the schemas are")
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args()
    folder: Path = options.folder
    wanted = documents()
    present = {path.name for path in folder.glob("*.json")}
    stale = sorted(
        name
        for name in wanted.keys() | present
        if name not in wanted or name not in present or (folder / name).read_bytes() != wanted[name]
    )
    if options.check:
        for name in stale:
            print(f"{folder / name} differs from the types; run `make schemas`", file=sys.stderr)
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in wanted:
            (folder / name).write_bytes(wanted[name])
        else:
            (folder / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
