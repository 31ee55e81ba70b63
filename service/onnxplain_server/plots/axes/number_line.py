"""Number line of a feature: positions, cells, ticks and texts of its values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.plots.axes.missing_values import MISSING, is_missing
from onnxplain_server.plots.elements.number_formats import (
    data_number,
    scale_format,
    spell,
    spell_apart,
)
from onnxplain_server.plots.elements.style import Spec

_TICK_COUNT = 6
_LARGEST, _LEAST_SPAN = 1e300, 1e-300
_LEAST_SHARE = 1e-11
"""Span of a line, as a share of its largest number: some hundred times the digits of float64."""
_FEW_VALUES = 8  # up to so many cells or whole numbers get a tick each


@dataclass(frozen=True, slots=True, eq=False)
class NumberLine:
    """Axis of a numeric feature.

    Attributes
    ----------
    title : str
    values : (n,)
        Distinct finite grid values, increasing, that `fits_line`; at least one.
    has_missing : bool
    is_stepped : bool
        Whether a value's cell reaches up to the next value, instead of around the value.
    grid : (n_grid,) or None
        All grid values, increasing, also those that are not drawn; None: `values`.
    """

    title: str
    values: Vector
    has_missing: bool
    is_stepped: bool = False
    grid: Vector | None = None

    @property
    def edges(self) -> Vector:
        """Borders of the values' cells: (n + 1,).

        Halfway between neighbours; for steps the values themselves, so that the last value, the
        end of the last step, has no width.
        """
        if self.is_stepped and self.values.size > 1:
            return np.append(self.values, self.values[-1])
        middle: Vector = (self.values[1:] + self.values[:-1]) / 2
        if not middle.size:
            alone: Vector = self.values[0] + _half_width(self.values[0]) * np.array([-1.0, 1.0])
            return alone
        first, last = 2 * self.values[0] - middle[0], 2 * self.values[-1] - middle[-1]
        return np.concatenate([[first], middle, [last]])

    @property
    def missing_cell(self) -> tuple[float, float]:
        """Borders of the cell for missing values, to the right of all others after a gap."""
        width = self.edges[-1] - self.edges[0]
        return self.edges[-1] + 0.04 * width, self.edges[-1] + 0.12 * width

    def holds(self, value: Any) -> bool:
        """Tell whether a value is on the axis."""
        return self.has_missing if is_missing(value) else bool((self.values == value).any())

    def spans(self, value: Any) -> bool:
        """Tell whether a value lies between the borders of the cells."""
        if is_missing(value):
            return self.has_missing
        return bool(self.edges[0] <= value <= self.edges[-1])

    def position(self, value: Any) -> float:
        """Return the position of a value."""
        return self._rounded(float(np.mean(self.missing_cell)) if is_missing(value) else value)

    def cell(self, value: Any) -> tuple[float, float]:
        """Return the borders of a value's cell."""
        if is_missing(value):
            low, high = self.missing_cell
        else:
            place = int(np.searchsorted(self.values, value))
            low, high = self.edges[place], self.edges[place + 1]
        return self._rounded(low), self._rounded(high)

    def text(self, value: Any) -> str:
        """Format a value, no two of the grid alike."""
        if is_missing(value):
            return MISSING
        others = self.values if self.grid is None else self.grid
        return spell_apart(value, others, scale_format(self.values))

    def _rounded(self, place: float) -> float:
        """Round a position to nine digits, or to as many as tell positions on this line apart."""
        low, high = self.values[[0, -1]]
        far = max(abs(low), abs(high)) / (high - low) if high > low else 1.0
        return data_number(place, math.ceil(math.log10(max(far, 1.0))))

    def channel(self, *, to_edges: bool) -> Spec:
        """Return scale and axis; `to_edges` leaves room for whole cells."""
        low, high = (self.edges if to_edges else self.values)[[0, -1]]
        margin = 0.0 if to_edges else 0.02 * (high - low)
        end = self.missing_cell[1] if self.has_missing else high + margin
        # A single value needs some width around it.
        alone = _half_width(low)
        domain = [low - alone, end + alone] if low == end else [low - margin, end]
        scale = {"domain": list(map(self._rounded, domain)), "nice": False, "zero": False}
        return {"type": "quantitative", "scale": scale, "axis": self._axis(to_edges)}

    def _axis(self, of_cells: bool) -> Spec:
        axis: Spec = {
            "title": self.title,
            "format": scale_format(self.values),
            "values": self._ticks(of_cells),
            "labelOverlap": "greedy",
        }
        if self.has_missing:
            border = self._rounded(self.missing_cell[0])
            axis["labelExpr"] = f"datum.value > {border} ? '{MISSING}' : datum.label"
        return axis

    def _ticks(self, of_cells: bool) -> list[float]:
        """Return the values if they are few, or else round numbers; then the missing value."""
        is_discrete = of_cells or bool((self.values == np.round(self.values)).all())
        is_few = self.values.size == 1 or (is_discrete and self.values.size <= _FEW_VALUES)
        ticks = self.values if is_few else round_numbers(self.values[0], self.values[-1])
        return [self._rounded(tick) for tick in ticks] + (
            [self.position(None)] if self.has_missing else []
        )


def fits_line(values: Vector) -> bool:
    """Tell whether a line can show finite values, (n,), ascending, and its ticks can be told apart.

    The distances of numbers at the ends of float64 exceed it, and near its least number they
    vanish; others differ in digits that no tick has.
    """
    low, high = values[[0, -1]]
    largest = max(abs(low), abs(high))
    if largest > _LARGEST:
        return False
    if len(values) == 1:
        return True
    if high - low < max(_LEAST_SPAN, _LEAST_SHARE * largest):
        return False
    texts = [spell(tick, scale_format(values)) for tick in round_numbers(low, high)]
    return len(set(texts)) == len(texts)


def _half_width(value: float) -> float:
    """Return the distance from a single value to each end of its line."""
    return max(0.5, 1e-3 * abs(value))


def round_numbers(low: float, high: float) -> Vector:
    """Return about six multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICK_COUNT
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return np.array([step * multiple for multiple in range(first, last + 1)])
