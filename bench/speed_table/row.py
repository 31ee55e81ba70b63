"""Row of the speed table: figures of one piece of work beside those of its counterpart.

A benchmark that has rows in the table defines `rows() -> Iterator[Row]`, and is named in
`bench/speed_table/parts.py`. `in_turn` measures both sides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

RUNS = 3


class Unit(StrEnum):
    """Unit of both sides' figures."""

    SECONDS = "s"
    MEGABYTES = "MB"
    PER_SECOND = "/s"

    @property
    def more_is_better(self) -> bool:
        """True for a rate."""
        return self is Unit.PER_SECOND


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of one piece of work, and of its counterpart in the same minutes.

    Attributes
    ----------
    work
        What onnxplain does: request, rows, columns, model.
    unit
        Of all figures.
    ours, theirs
        One figure per run, taken in turn. A side that takes long may have one figure, which then
        stands beside every figure of the other.
    counterpart
        What is measured beside it, with what it does otherwise.
    wanted
        Ratio that is aimed at. None: no aim.
    note
        What a reader must know to judge the ratio: what the two sides do not have in common.
    headline
        Short name of the work for the table of README.md. Empty: the row is not in it.
    """

    work: str
    unit: Unit
    ours: Sequence[float]
    counterpart: str
    theirs: Sequence[float]
    wanted: float | None = None
    note: str = ""
    headline: str = ""

    def __post_init__(self) -> None:
        """Refuse rows whose ratio is none."""
        if not all(figure > 0 for figure in (*self.ours, *self.theirs)):
            raise ValueError(f"{self.work}: figures must be positive")
        counts = {len(self.ours), len(self.theirs)}
        if 0 in counts or len(counts - {1}) > 1:
            raise ValueError(f"{self.work}: {len(self.ours)} runs beside {len(self.theirs)}")

    @property
    def ratios(self) -> list[float]:
        """How many times as good as the counterpart, by run: above 1, onnxplain is better.

        Of seconds and bytes it is theirs / ours, of rates ours / theirs.
        """
        runs = max(len(self.ours), len(self.theirs))
        ours, theirs = (
            [*side] * (runs if len(side) == 1 else 1) for side in (self.ours, self.theirs)
        )
        pairs = zip(ours, theirs, strict=True)
        return [our / their if self.unit.more_is_better else their / our for our, their in pairs]

    @property
    def ratio(self) -> float:
        """Median over the runs."""
        return median(self.ratios)

    @property
    def is_met(self) -> bool | None:
        """Whether every run reaches the wanted ratio; None where none is wanted."""
        return None if self.wanted is None else min(self.ratios) >= self.wanted


def seconds(run: Callable[[], object]) -> float:
    """Return the wall time of a run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def in_turn(
    ours: Callable[[], float], theirs: Callable[[], float], runs: int = RUNS
) -> tuple[list[float], list[float]]:
    """Return the figures of both sides, measured one after the other, `runs` times.

    Each function does its work once and returns its figure; the caller warms up before.
    """
    pairs = [(ours(), theirs()) for _ in range(runs)]
    return [our for our, _ in pairs], [their for _, their in pairs]


def lines(rows: Iterable[Row]) -> Iterator[str]:
    """Tell rows on a terminal."""
    for row in rows:
        wanted = "" if row.wanted is None else f" (wanted: {row.wanted:.3g})"
        runs = ", ".join(f"{ratio:.3g}" for ratio in row.ratios)
        yield (
            f"{row.work}: {median(row.ours):.3g} {row.unit}; {row.counterpart}: "
            f"{median(row.theirs):.3g} {row.unit}; times as good: {runs}{wanted}"
        )
