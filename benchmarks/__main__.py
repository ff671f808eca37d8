"""`python -m benchmarks`: measure, and print the table."""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import figures, plots, table
from benchmarks.bench import FULL, QUICK, Bench
from benchmarks.corpus import CACHE


def main() -> int:
    """Print each figure as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything: a minute")
    parser.add_argument("--only", choices=figures.GROUPS, action="append", help="one group")
    parser.add_argument("--corpora", type=Path, default=CACHE, help="where corpora are kept")
    parser.add_argument("--out", type=Path, help="a folder for the table and the plots")
    options = parser.parse_args()
    lines: list[str] = []
    points: list[table.Point] = []

    def tell(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    with tempfile.TemporaryDirectory(prefix="sessionref-bench-") as folder:
        bench = Bench(QUICK if options.quick else FULL, Path(folder), options.corpora)
        tell(table.HEAD)
        for name in options.only or figures.GROUPS:
            for figure in figures.GROUPS[name](bench):
                if isinstance(figure, table.Point):
                    points.append(figure)
                else:
                    tell(table.markdown(figure))
        tell("\n" + table.how_taken(bench.used(), quick=options.quick))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "table.md").write_text("\n".join(lines) + "\n")
        for plot in plots.PLOTS:
            drawn = plots.svg(plot, [point for point in points if point.plot == plot.name])
            (options.out / f"cost-by-{plot.name}.svg").write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
