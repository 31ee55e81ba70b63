"""The page of the documents that a run writes of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from rig import pictures, slopes
from rig.checker import ALLOWANCES, MIB, History, Verdict
from rig.history import Call, Fault

_BYTES = "_bytes"

_HEAD = """\
# Torture

<!-- Written by `python -m rig report`: change tests/torture/rig, not this page. -->

The report of a run of `make torture`: two replicas and a Redis under mixed load, with a fault every
ten seconds. See [tests/torture](../../tests/torture/README.md) for its parts and rules.
"""


def write(found: History, verdicts: Iterable[Verdict], docs: Path) -> Path:
    """Write the page and its pictures into the folder of the documents."""
    images = docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    pictures.draw(found, images)
    page = docs / "studies" / "torture.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(_lines(found, list(verdicts))) + "\n", encoding="utf-8")
    return page


def _lines(found: History, verdicts: list[Verdict]) -> Iterator[str]:
    yield _HEAD
    yield _summary(found)
    yield from ("", "## Rules", "", "| Rule | Verdict | Result |", "|---|---|---|")
    for verdict in verdicts:
        yield f"| {verdict.rule} | {'holds' if verdict.holds else '**broken**'} | {verdict.found} |"
    broken = [each for each in verdicts if each.examples and not each.holds]
    for verdict in broken:
        yield from ("", f"{verdict.rule}, broken by:", "")
        yield from (f"- `{example}`" for example in verdict.examples)
    yield from _load(found)
    yield from _faults(found)
    yield from _sizes(found)


def _summary(found: History) -> str:
    asked = found.run
    ended = asked.end or max((call.end for call in found.calls), default=asked.start)
    cut = "" if asked.end and ended - asked.start >= asked.seconds else ", ended early"
    return (
        f"This run: {(ended - asked.start) / 60:.1f} minutes{cut}, seed {asked.seed}, "
        f"{asked.clients} good clients and a hostile one, {len(found.calls):,} calls, "
        f"{len(found.faults)} faults of {len({f.kind for f in found.faults})} kinds."
    )


def _load(found: History) -> Iterator[str]:
    yield from ("", "## Load", "")
    yield "![Seconds per call over time, and the faults below](../images/torture-load.png)"
    yield from ("", "| Calls | Count | Answered | p50 | p95 | p99 | Longest |")
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for manner in ("whole", "operation", "hurried", "cancelled", "hostile"):
        yield _row(manner, [call for call in found.calls if call.manner == manner])
    for surface in sorted({call.surface for call in found.whole}):
        calls = [call for call in found.whole if call.surface == surface]
        yield _row(f"whole, {surface}", calls)


def _row(name: str, calls: list[Call]) -> str:
    took = [call.end - call.start for call in calls] or [0.0]
    answered = sum(call.outcome == "answer" for call in calls)
    seconds = [*np.quantile(took, [0.5, 0.95, 0.99]), max(took)]
    cells = " | ".join(f"{value:.2f} s" for value in seconds)
    return f"| {name} | {len(calls):,} | {answered:,} | {cells} |"


def _faults(found: History) -> Iterator[str]:
    yield from ("", "## Faults", "")
    yield "Recovery is the time from the end of a fault until every replica accepts requests."
    yield from ("", "| Fault | Count | Recovery, median | Longest | Calls affected | Errors |")
    yield "|---|---:|---:|---:|---:|---|"
    for kind in sorted({fault.kind for fault in found.faults}):
        yield _fault_row(kind, found)


def _fault_row(kind: str, found: History) -> str:
    faults = [fault for fault in found.faults if fault.kind == kind]
    again = [fault.end - fault.healed for fault in faults]
    met = [call for call in found.calls if _met(call, faults) and call.manner != "hostile"]
    errors = Counter(call.reason for call in met if call.outcome == "error")
    told = ", ".join(f"{name} {count}" for name, count in errors.most_common(4))
    return (
        f"| {kind} | {len(faults)} | {np.median(again):.2f} s | {max(again):.2f} s | "
        f"{len(met):,} | {told} |"
    )


def _met(call: Call, faults: Iterable[Fault]) -> bool:
    return any(fault.start <= call.end and call.start <= fault.end for fault in faults)


def _sizes(found: History) -> Iterator[str]:
    yield from ("", "## Sizes", "")
    yield "![Memory of a server, its workers and Redis over time](../images/torture-memory.png)"
    if not found.trends:
        yield from ("", "The run was too short for slopes.")
        return
    yield ""
    yield (
        "Sizes of the replica that is never restarted. Slopes are Theil-Sen estimates with "
        f"{slopes.CONFIDENCE:.0%} confidence, over medians of 15 s, without the first 30 % or "
        "5 minutes. A size grows if its whole interval is above the bound, and the slope of each "
        "half of the time is above 0 by two standard errors: a leak continues, a pool that was "
        "enlarged once does not. Unexplained descriptors are those of the server less three for "
        "each worker process and one for each open TCP connection: warm workers do not count."
    )
    yield from ("", "| Size | First | Last | Per hour | Interval | Bound | Minutes |")
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for each in found.trends:
        key = each.name.rpartition(" ")[2]
        known = (each.first, each.last, each.per_hour, each.low, each.high, ALLOWANCES[key])
        first, last, slope, low, high, most = (_size(key, value) for value in known)
        cells = [_name(each), first, last, slope, f"{low} to {high}", most, f"{each.minutes:.0f}"]
        yield f"| {' | '.join(cells)} |"
    yield from _power(found)


def _power(found: History) -> Iterator[str]:
    """Tell which leaks this run would have found, by simulation with its own noise."""
    yield from ("", "### Power", "")
    yield (
        "Share of simulated runs in which a steady leak of so much per hour is found. The noise is "
        "that of this run around its slope, shifted in time by each number of blocks."
    )
    factors = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
    yield from ("", f"| Leak per hour | {' | '.join(f'{each:g}' for each in factors)} |")
    yield f"|---|{len(factors) * '---:|'}"
    for each in found.trends:
        key = each.name.rpartition(" ")[2]
        unit = MIB if key.endswith(_BYTES) else 1.0
        powers = [each.power(unit * factor, ALLOWANCES[key]) for factor in factors]
        name = f"{_name(each)}{', MiB' * key.endswith(_BYTES)}"
        yield f"| {name} | {' | '.join(f'{power:.0%}' for power in powers)} |"


def _name(trend: slopes.Trend) -> str:
    return trend.name.replace("-1 ", " ").replace("-", " ").replace("_", " ")


def _size(key: str, value: float) -> str:
    return f"{value / MIB:.1f} MiB" if key.endswith(_BYTES) else f"{value:.1f}"
