"""`python -m benchmarks.soak`: keep the program busy, and say whether it stood that."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.soak.run import AGENTS, IN_FLIGHT, Soak
from benchmarks.table import quantity


def main() -> int:
    """1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessionref-soak-") as folder:
        soak = Soak(Path(folder), options.seed, options.seconds)
        soak.run()
    wrong = soak.complaints + soak.growth()
    print(
        f"{soak.answers} requests of {AGENTS} agents in {options.seconds:g} s, {IN_FLIGHT} of them"
    )
    print("under way at any time. From request to answer, after the warm-up:")
    for line in report(soak):
        print(line)
    for complaint in wrong:
        print(f"WRONG: {complaint}")
    if wrong:
        return 1
    print("Every request was answered once, and rightly, and nothing grew.")
    return 0


def report(soak: Soak) -> Iterator[str]:
    """What was measured."""
    yield "| method | answers | p50 | p99 |"
    yield "|---|---:|---:|---:|"
    for method, taken in sorted(soak.taken.items()):
        ordered = sorted(taken)
        middle, late = (
            quantity(ordered[int(len(ordered) * share)], "seconds") for share in (0.5, 0.99)
        )
        yield f"| `{method}` | {len(taken)} | {middle} | {late} |"
    errors = ", ".join(f"{count} x {code}" for code, count in sorted(soak.errors.items()))
    yield f"Errors, all of them due: {errors or 'none'}"
    for moment in soak.vitals[:: max(1, len(soak.vitals) // 10)]:
        memory = quantity(moment.memory, "bytes")
        held = f"{moment.descriptors} descriptors, {moment.threads} threads"
        yield f"after {moment.at:.0f} s: {memory}, {held}"


if __name__ == "__main__":
    sys.exit(main())
