"""Fuzz every target for its share of the time, guided by coverage, and say what that came to.

`make fuzz` runs this. Each target runs in processes of its own (`child`), as many at one time as
there are processors. What was found interesting is kept for the next run; an input that breaks a
rule is a finding: it is kept as well, named, and ends its target's run. Exit code 1 with findings.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from fuzz.target import Target
from fuzz.targets import TARGETS

SEEDS = Path(__file__).with_name("seeds")
MAX_BYTES = 4096
MAX_SECONDS = 10
"""For one input: a second is already far more than any takes."""
MAX_MIB = 512
"""For the process, interpreter and corpus included."""
LAST_LINES = 40
CRASHED = "=== Uncaught Python exception"


class Outcome(NamedTuple):
    """What fuzzing one target came to."""

    target: str
    seconds: float
    executions: int
    findings: list[Path]
    trouble: str
    """What the process said last, where it ended in any other way than by running out of time."""


def dictionary(tokens: tuple[bytes, ...]) -> str:
    """The tokens as libFuzzer reads them."""
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in tokens)


def fuzz(target: Target, seconds: float, kept: Path) -> Outcome:
    """Run one target and wait for its end."""
    corpus, findings = kept / "corpus" / target.name, kept / "findings" / target.name
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    with tempfile.NamedTemporaryFile("w", suffix=".dict") as words:
        words.write(dictionary(target.tokens))
        words.flush()
        started = time.monotonic()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "fuzz.child", target.name),
                *(f"-max_total_time={max(1, int(seconds))}", "-print_final_stats=1"),
                *(f"-max_len={MAX_BYTES}", f"-timeout={MAX_SECONDS}", f"-rss_limit_mb={MAX_MIB}"),
                *(f"-dict={words.name}", f"-artifact_prefix={findings}/"),
                *(str(corpus), str(SEEDS / target.name)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    said = done.stderr.decode(errors="replace")
    executed = re.search(r"stat::number_of_executed_units: (\d+)", said)
    return Outcome(
        target.name,
        time.monotonic() - started,
        int(executed[1]) if executed else 0,
        sorted(set(findings.iterdir()) - before),
        last_words(said) if done.returncode or not executed else "",
    )


def last_words(said: str) -> str:
    """The traceback, or else whatever came last."""
    _, crashed, traceback = said.partition(CRASHED)
    lines = (traceback if crashed else said).splitlines()
    return "\n".join(lines[:LAST_LINES] if crashed else lines[-LAST_LINES:])


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """What is printed at the end."""
    yield f"{'target':<16}{'seconds':>9}{'executions':>13}{'findings':>10}"
    for outcome in outcomes:
        found = len(outcome.findings)
        yield f"{outcome.target:<16}{outcome.seconds:>9.0f}{outcome.executions:>13,}{found:>10}"
    total = sum(outcome.executions for outcome in outcomes)
    found = sum(len(outcome.findings) for outcome in outcomes)
    yield f"{'together':<16}{'':>9}{total:>13,}{found:>10}"


def main() -> int:
    """Fuzz what is asked for."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all targets together")
    parser.add_argument("--only", choices=TARGETS, help="one target")
    parser.add_argument("--keep", type=Path, required=True, help="a folder for what is found")
    options = parser.parse_args()
    targets = [TARGETS[options.only]] if options.only else list(TARGETS.values())
    at_once = min(os.cpu_count() or 1, len(targets))
    share = options.seconds * at_once / len(targets)
    with ThreadPoolExecutor(at_once) as pool:
        outcomes = list(pool.map(lambda target: fuzz(target, share, options.keep), targets))
    for outcome in outcomes:
        if outcome.trouble:
            print(f"--- {outcome.target}\n{outcome.trouble}")
        for finding in outcome.findings:
            print(f"{finding}: {finding.read_bytes()!r}")
    print(*table(outcomes), sep="\n")
    return 1 if any(outcome.trouble for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
