"""Fuzz every target for its share of the time, guided by coverage, and say what that came to.

`make fuzz` runs this. Each target runs in processes of its own (`child`), as many at one time as
there are processors. What was found interesting is kept for the next run; an input that breaks a
rule is kept as well and ends its target's run. If it breaks the rule again when it is tried alone,
it is a finding: it is named, and the exit code is 1. What only a busy machine brought about isn't.
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
    edges: int
    """How many branches of our code all that was tried went through, as libFuzzer counts them."""
    findings: list[Path]
    """What ended the run and, tried alone, breaks a rule again."""
    flukes: list[Path]
    """What ended the run or took long, but passes alone: the machine may have been busy."""
    trouble: str
    """What the process said last, where it ended in any other way than by running out of time."""
    is_broken: bool
    """It ended by itself, and over no input: the fuzzer is wrong."""

    @property
    def is_failure(self) -> bool:
        return bool(self.findings) or self.is_broken


def dictionary(tokens: tuple[bytes, ...]) -> str:
    """The tokens as libFuzzer reads them."""
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in tokens)


def child(target: Target, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Run libFuzzer on a target, under the limits that hold for each input."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "fuzz.child", target.name),
            *(f"-max_len={MAX_BYTES}", f"-timeout={MAX_SECONDS}", f"-rss_limit_mb={MAX_MIB}"),
            *arguments,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )


def fuzz(target: Target, seconds: float, kept: Path) -> Outcome:
    """Run one target and wait for its end, then try what ended it once more."""
    corpus, findings = kept / "corpus" / target.name, kept / "findings" / target.name
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    with tempfile.NamedTemporaryFile("w", suffix=".dict") as words:
        words.write(dictionary(target.tokens))
        words.flush()
        started = time.monotonic()
        done = child(
            target,
            *(f"-max_total_time={max(1, int(seconds))}", "-print_final_stats=1"),
            *(f"-dict={words.name}", f"-artifact_prefix={findings}/"),
            *(str(corpus), str(SEEDS / target.name)),
        )
        took = time.monotonic() - started
    said = done.stderr.decode(errors="replace")
    executed = re.search(r"stat::number_of_executed_units: (\d+)", said)
    covered = re.findall(r"\bcov: (\d+)", said)
    left = sorted(set(findings.iterdir()) - before)
    again = [path for path in left if child(target, str(path)).returncode]
    return Outcome(
        target.name,
        took,
        int(executed[1]) if executed else 0,
        int(covered[-1]) if covered else 0,
        again,
        [path for path in left if path not in again],
        last_words(said) if done.returncode or not executed else "",
        done.returncode > 0 and not left,
    )


def last_words(said: str) -> str:
    """The traceback, or else whatever came last."""
    _, crashed, traceback = said.partition(CRASHED)
    lines = (traceback if crashed else said).splitlines()
    return "\n".join(lines[:LAST_LINES] if crashed else lines[-LAST_LINES:])


def row(name: str, seconds: str, executions: int, edges: str, findings: int) -> str:
    return f"{name:<16}{seconds:>9}{executions:>13,}{edges:>8}{findings:>10}"


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """What is printed at the end."""
    yield f"{'target':<16}{'seconds':>9}{'executions':>13}{'edges':>8}{'findings':>10}"
    for each in outcomes:
        found = len(each.findings)
        yield row(each.target, f"{each.seconds:.0f}", each.executions, str(each.edges), found)
    total = sum(each.executions for each in outcomes)
    yield row("together", "", total, "", sum(len(each.findings) for each in outcomes))


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
        for fluke in outcome.flukes:
            print(f"{fluke}: passes when it is tried alone, so it does not count")
    print(*table(outcomes), sep="\n")
    return 1 if any(outcome.is_failure for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
