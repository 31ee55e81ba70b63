"""Page docs/studies/speed.md and the table of README.md, from the kept result.

python -m bench.speed_table.page [--check]

With --check, nothing is written: it fails where the committed files say something else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from bench.speed_table.parts import BENCHMARKS, Part
from bench.speed_table.result import Machine, Result, read_result
from bench.speed_table.row import Row, Unit

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "studies" / "speed.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- By `make bench-table` -->\n", "<!-- End -->\n"


def write() -> None:
    """Write both files."""
    for path, text in written(read_result()).items():
        path.write_text(text, encoding="utf-8")


def written(result: Result) -> Mapping[Path, str]:
    """Return both files, their text outside of the markers as it is."""
    return {
        PAGE: _between(PAGE.read_text(encoding="utf-8"), "\n".join(_page(result))),
        README: _between(README.read_text(encoding="utf-8"), "\n".join(_readme(result))),
    }


def _between(text: str, made: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN.strip()} and {END.strip()}")
    return f"{before}{begin}\n{made}\n{end}{after}"


def _readme(result: Result) -> Iterator[str]:
    yield "| Work | onnxplain | Beside | Its figure | Times as fast |"
    yield "|---|--:|---|--:|--:|"
    for part in result.parts.values():
        for row in part.rows:
            if row.headline:
                yield _line(
                    row.headline,
                    _figure(median(row.ours), row.unit),
                    row.counterpart,
                    _figure(median(row.theirs), row.unit),
                    _number(row.ratio),
                )
    if result.machine is not None:
        yield ""
        days = sorted({part.begun[: len("2026-01-01")] for part in result.parts.values()})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        yield (
            f"Medians of runs in turn on {result.machine.described}, measured on {when}. "
            "[All rows, versions, and what the two sides do not have in common]"
            "(docs/studies/speed.md)."
        )


def _page(result: Result) -> Iterator[str]:
    if result.machine is not None:
        yield from _machine(result.machine)
    for name, part in result.parts.items():
        yield from ("", f"## {BENCHMARKS[name].title}", "")
        yield from _part(part)


def _machine(machine: Machine) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    yield f"Machine: {machine.described}. {versions}."


def _part(part: Part) -> Iterator[str]:
    yield "| Work | onnxplain | Beside | Its figure | Times as good | Runs | Wanted |"
    yield "|---|--:|---|--:|--:|---|--:|"
    for row in part.rows:
        yield _line(
            row.work,
            _figure(median(row.ours), row.unit),
            row.counterpart,
            _figure(median(row.theirs), row.unit),
            f"**{_number(row.ratio)}**",
            ", ".join(map(_number, row.ratios)),
            _wanted(row),
        )
    yield ""
    notes = dict.fromkeys(row.note for row in part.rows if row.note)
    yield from (f"- {note}" for note in notes)
    if notes:
        yield ""
    yield (
        f"Measured on {part.begun} UTC in {part.seconds:.0f} s. "
        f"Cores at other work just before: {part.busy_cores:.1f}."
    )


def _wanted(row: Row) -> str:
    if row.wanted is None:
        return ""
    return f"{_number(row.wanted)}: {'yes' if row.is_met else 'no'}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _figure(value: float, unit: Unit) -> str:
    if unit is Unit.SECONDS and value < 1:
        return f"{_number(1000 * value)}\u00a0ms"
    return f"{_number(value)}\u00a0{unit}"


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    rounded = float(f"{value:.3g}")
    if rounded >= 1e6:
        return f"{rounded / 1e6:.3g} M"
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:.3g}"


def main() -> None:
    """Write both files, or compare them."""
    if "--check" not in sys.argv[1:]:
        write()
        return
    for path, text in written(read_result()).items():
        if path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.relative_to(ROOT)} is not what result.json gives: run {__spec__.name}")


if __name__ == "__main__":
    main()
