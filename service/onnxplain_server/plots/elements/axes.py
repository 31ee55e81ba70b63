"""Where the values of a feature lie in a picture: along a number line or in a list.

Both kinds give each value a position, and a missing value one of its own behind the others.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.elements.labels import (
    clean,
    data_number,
    distinguish,
    scale_format,
    shorten,
    spell,
)
from onnxplain_server.plots.elements.style import Spec

MISSING = "missing"

_TICK_COUNT = 6
_FEW_VALUES = 8  # so many cells or whole numbers are ticked one by one
_LETTERS_IN_WIDTH = 40  # of labels side by side in the narrowest panel


def is_missing(value: Any) -> bool:
    """Tell None, NaN and the empty text from values."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def key(value: Any) -> Any:
    """Make missing values equal each other."""
    return None if is_missing(value) else value


def distinct(grid: Array) -> list[Any]:
    """Give the distinct values in order, None for missing ones behind the others."""
    found = {key(value) for value in grid.tolist()}
    return [*sorted(found - {None}), *([None] if None in found else [])]


@dataclass(frozen=True, slots=True, eq=False)
class NumberLine:
    """A numeric feature.

    Attributes
    ----------
    title : str
    values : (n,)
        Distinct finite grid values, increasing; at least one.
    has_missing : bool
    is_stepped : bool
        Whether what holds at a value holds up to the next one, instead of around it.
    """

    title: str
    values: Vector
    has_missing: bool
    is_stepped: bool = False

    @property
    def edges(self) -> Vector:
        """Borders of the values' cells: (n + 1,).

        Halfway between neighbours; of steps the values themselves, so that the last one, which
        ends the last step, has no width.
        """
        if self.is_stepped and self.values.size > 1:
            return np.append(self.values, self.values[-1])
        middle: Vector = (self.values[1:] + self.values[:-1]) / 2
        if not middle.size:
            return np.array([self.values[0] - 0.5, self.values[0] + 0.5])
        first, last = 2 * self.values[0] - middle[0], 2 * self.values[-1] - middle[-1]
        return np.concatenate([[first], middle, [last]])

    @property
    def missing_cell(self) -> tuple[float, float]:
        """Borders of the cell of the missing value, right of all others with a gap."""
        width = self.edges[-1] - self.edges[0]
        return self.edges[-1] + 0.04 * width, self.edges[-1] + 0.12 * width

    def holds(self, value: Any) -> bool:
        """Tell whether a value has a place here."""
        return self.has_missing if is_missing(value) else bool((self.values == value).any())

    def position(self, value: Any) -> float:
        """Place a value."""
        return data_number(float(np.mean(self.missing_cell)) if is_missing(value) else value)

    def cell(self, value: Any) -> tuple[float, float]:
        """Give the borders of a value's cell."""
        if is_missing(value):
            low, high = self.missing_cell
        else:
            place = int(np.searchsorted(self.values, value))
            low, high = self.edges[place], self.edges[place + 1]
        return data_number(low), data_number(high)

    def text(self, value: Any) -> str:
        """Write a value."""
        return MISSING if is_missing(value) else spell(value, scale_format(self.values))

    def channel(self, *, to_edges: bool) -> Spec:
        """Scale and axis; `to_edges` leaves room for whole cells."""
        low, high = (self.edges if to_edges else self.values)[[0, -1]]
        margin = 0.0 if to_edges else 0.02 * (high - low)
        end = self.missing_cell[1] if self.has_missing else high + margin
        # One value alone needs some width around it.
        around = [low - 0.5, end + 0.5] if low == end else [low - margin, end]
        scale = {"domain": list(map(data_number, around)), "nice": False, "zero": False}
        return {"type": "quantitative", "scale": scale, "axis": self._axis(to_edges)}

    def _axis(self, of_cells: bool) -> Spec:
        axis: Spec = {
            "title": self.title,
            "format": scale_format(self.values),
            "values": self._ticks(of_cells),
            "labelOverlap": "greedy",
        }
        if self.has_missing:
            border = data_number(self.missing_cell[0])
            axis["labelExpr"] = f"datum.value > {border} ? '{MISSING}' : datum.label"
        return axis

    def _ticks(self, of_cells: bool) -> list[float]:
        """Round numbers within the values, or the values if few; then the missing value."""
        counted = of_cells or bool((self.values == np.round(self.values)).all())
        few = self.values.size == 1 or (counted and self.values.size <= _FEW_VALUES)
        ticks = self.values if few else _round_numbers(self.values[0], self.values[-1])
        return [data_number(tick) for tick in ticks] + (
            [self.position(None)] if self.has_missing else []
        )


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """A feature of strings.

    Attributes
    ----------
    title : str
    labels : dict of str to str
        How each value is shown, in order.
    has_missing : bool
    """

    title: str
    labels: dict[str, str]
    has_missing: bool

    def holds(self, value: Any) -> bool:
        """Tell whether a value has a place here."""
        return self.has_missing if is_missing(value) else value in self.labels

    def position(self, value: Any) -> str:
        """Place a value: by its text."""
        return self.text(value)

    def text(self, value: Any) -> str:
        """Write a value, listed or not."""
        if not is_missing(value):
            return self.labels.get(value, clean(value))
        return MISSING if MISSING not in self.labels.values() else f"{MISSING} (no value)"

    def channel(self, *, upright: bool) -> Spec:
        """Scale and axis; `upright` if the list runs to the right, where long labels slant."""
        sort = [*self.labels.values(), *([self.text(None)] if self.has_missing else [])]
        axis: Spec = {"title": self.title}
        if upright:
            slant = len(sort) * max(map(len, sort)) > _LETTERS_IN_WIDTH
            axis |= {"labelAngle": -35 if slant else 0, "labelLimit": 120}
        return {"type": "nominal", "sort": sort, "axis": axis}


Axis: TypeAlias = NumberLine | Categories


def lay_axis(
    name: str, grid: Array, sample: Array, most: int, *, is_stepped: bool = False
) -> tuple[Axis, list[str]]:
    """Lay an axis for at most so many values of a feature, and say what it leaves out.

    Of more numbers than that, evenly many are kept, which no eye notices unless each is a
    step; of more strings the most frequent in the sample, or the first ones where there is no
    sample.
    """
    title = shorten(clean(name), 60)
    present = [value for value in grid if not is_missing(value)]
    has_missing = len(present) < len(grid)
    if grid.dtype.kind in "OU" or not np.isfinite(np.array(present, float)).any():
        return _categories(title, sorted(set(map(str, present))), sample, most, has_missing)
    values = np.unique([value for value in present if math.isfinite(value)]).astype(np.float64)
    found = values.size
    if found > most:
        values = values[np.linspace(0, found - 1, most).round().astype(int)]
    remark = f"{most} of {found:,} steps of {shorten(title)}, evenly chosen"
    remarks = [remark] if is_stepped and found > most else []
    return NumberLine(title, values, has_missing, is_stepped), remarks


def _categories(
    title: str, found: list[str], sample: Array, most: int, has_missing: bool
) -> tuple[Categories, list[str]]:
    frequency = Counter(sample.tolist())
    kept = set(sorted(found, key=lambda value: -frequency[value])[:most])
    shown = [value for value in found if value in kept]
    labels = dict(zip(shown, distinguish(shown), strict=True))
    which = f"{most} most frequent" if sample.size else f"first {most}"
    remarks = [f"{which[0].upper()}{which[1:]} of {len(found)} values of {shorten(title)}"]
    return Categories(title, labels, has_missing), remarks if len(found) > most else []


def _round_numbers(low: float, high: float) -> Vector:
    """About six multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICK_COUNT
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return np.array([step * multiple for multiple in range(first, last + 1)])
