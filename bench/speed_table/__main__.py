"""Speed table: each piece of work beside its counterpart.

python -m bench.speed_table [--keep] [PART ...]

Without parts, it measures all of `parts.BENCHMARKS`. With --keep, the figures go into result.json,
and from there into docs/studies/speed.md and README.md; `make bench-table` does so. A part that
fails keeps its former figures, with their date, and the command then fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Iterator

from bench.speed_table import page
from bench.speed_table.parts import BENCHMARKS, Part, measure
from bench.speed_table.result import read_result, this_machine, write_result
from bench.speed_table.row import lines


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(BENCHMARKS)}")
    asked = parser.parse_args()
    unknown = set(asked.parts) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"no {', '.join(sorted(unknown))}: one of {', '.join(BENCHMARKS)}")
    names = [name for name in BENCHMARKS if name in asked.parts or not asked.parts]
    failed = []
    for name, part in _measured(names):
        if part is None:
            failed.append(name)
        elif asked.keep:
            write_result(read_result().with_part(name, part, this_machine()))
            page.write()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _measured(names: Iterable[str]) -> Iterator[tuple[str, Part | None]]:
    """Measure parts and print their rows; a part that fails is None."""
    for name in names:
        print(f"\n{name}", flush=True)
        try:
            part = measure(name)
        except subprocess.CalledProcessError:
            yield name, None
            continue
        for line in lines(part.rows):
            print(f"  {line}")
        print(f"  {part.seconds:.0f} s in all, {part.busy_cores} cores busy before", flush=True)
        yield name, part


if __name__ == "__main__":
    main()
