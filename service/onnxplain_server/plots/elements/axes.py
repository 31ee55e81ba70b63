"""Axes of a feature's values: a number line, or a list of categories.

Both give each value a position, and missing values a position of their own after the others.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.plots.elements.labels import clean, distinguish, shorten, shorten_inside
from onnxplain_server.plots.elements.number_formats import data_number, scale_format, spell
from onnxplain_server.plots.elements.style import Spec

MISSING = "missing"

_TICK_COUNT = 6
_FEW_VALUES = 8  # up to so many cells or whole numbers get a tick each
_WIDTH_CHARACTERS = 40  # of labels side by side in the narrowest panel


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or empty text."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def key(value: Any) -> Any:
    """Map all missing values to None, so that they are equal."""
    return None if is_missing(value) else value


def distinct(grid: Array) -> list[Any]:
    """Return the distinct values in order; None, for missing ones, comes last."""
    keys = {key(value) for value in grid.tolist()}
    return [*sorted(keys - {None}), *([None] if None in keys else [])]


@dataclass(frozen=True, slots=True, eq=False)
class NumberLine:
    """Axis of a numeric feature.

    Attributes
    ----------
    title : str
    values : (n,)
        Distinct finite grid values, increasing; at least one.
    has_missing : bool
    is_stepped : bool
        Whether a value's cell reaches up to the next value, instead of around the value.
    """

    title: str
    values: Vector
    has_missing: bool
    is_stepped: bool = False

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
            return np.array([self.values[0] - 0.5, self.values[0] + 0.5])
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

    def position(self, value: Any) -> float:
        """Return the position of a value."""
        return data_number(float(np.mean(self.missing_cell)) if is_missing(value) else value)

    def cell(self, value: Any) -> tuple[float, float]:
        """Return the borders of a value's cell."""
        if is_missing(value):
            low, high = self.missing_cell
        else:
            place = int(np.searchsorted(self.values, value))
            low, high = self.edges[place], self.edges[place + 1]
        return data_number(low), data_number(high)

    def text(self, value: Any) -> str:
        """Format a value."""
        return MISSING if is_missing(value) else spell(value, scale_format(self.values))

    def channel(self, *, to_edges: bool) -> Spec:
        """Return scale and axis; `to_edges` leaves room for whole cells."""
        low, high = (self.edges if to_edges else self.values)[[0, -1]]
        margin = 0.0 if to_edges else 0.02 * (high - low)
        end = self.missing_cell[1] if self.has_missing else high + margin
        # A single value needs some width around it.
        domain = [low - 0.5, end + 0.5] if low == end else [low - margin, end]
        scale = {"domain": list(map(data_number, domain)), "nice": False, "zero": False}
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
        """Return the values if they are few, or else round numbers; then the missing value."""
        is_discrete = of_cells or bool((self.values == np.round(self.values)).all())
        is_few = self.values.size == 1 or (is_discrete and self.values.size <= _FEW_VALUES)
        ticks = self.values if is_few else round_numbers(self.values[0], self.values[-1])
        return [data_number(tick) for tick in ticks] + (
            [self.position(None)] if self.has_missing else []
        )


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Axis of a text feature.

    Attributes
    ----------
    title : str
    labels : dict of str to str
        Label of each value, in order.
    has_missing : bool
    """

    title: str
    labels: dict[str, str]
    has_missing: bool

    def holds(self, value: Any) -> bool:
        """Tell whether a value is on the axis."""
        return self.has_missing if is_missing(value) else value in self.labels

    def position(self, value: Any) -> str:
        """Return the position of a value: its label."""
        return self.text(value)

    def text(self, value: Any) -> str:
        """Format a value, whether or not it is on the axis."""
        if not is_missing(value):
            return self.labels.get(value, clean(value))
        return MISSING if MISSING not in self.labels.values() else f"{MISSING} (no value)"

    def channel(self, *, upright: bool) -> Spec:
        """Return scale and axis; `upright` for a horizontal list, whose long labels slant."""
        sort = [*self.labels.values(), *([self.text(None)] if self.has_missing else [])]
        axis: Spec = {"title": self.title}
        if upright:
            slant = len(sort) * max(map(len, sort)) > _WIDTH_CHARACTERS
            axis |= {"labelAngle": -35 if slant else 0}
        return {"type": "nominal", "sort": sort, "axis": axis}


Axis: TypeAlias = NumberLine | Categories

PANEL_TITLE_LENGTH = 30
"""Characters of the title of an axis in a panel."""
_CATEGORY_LENGTH = 42


def in_panel(axis: Axis) -> Axis:
    """Shorten the title of an axis to the width of a panel."""
    return replace(axis, title=shorten_inside(axis.title, PANEL_TITLE_LENGTH))


def lay_axis(
    name: str,
    grid: Array,
    sample: Array,
    limit: int,
    *,
    effects: Vector | None = None,
    is_stepped: bool = False,
) -> tuple[Axis, list[str]]:
    """Make an axis for at most `limit` values of a feature, with remarks on those left out.

    Keeps evenly spaced numbers, with a remark only if each is a step, or the most frequent strings
    of the sample, or the first strings without a sample.

    Parameters
    ----------
    grid : (n,)
        Values of the feature; strings are sorted by their effects, the largest first.
    effects : (n,), or None
        What the values lead to; None to keep strings in the order of the grid.
    """
    title = shorten(clean(name), 60)
    present = [value for value in grid if not is_missing(value)]
    has_missing = len(present) < len(grid)
    if grid.dtype.kind in "OU" or not np.isfinite(np.array(present, float)).any():
        ordered = _by_effect(grid, effects)
        axis = _categories(title, ordered, sample, limit, has_missing)
        return axis, _left_out(len(ordered), limit, title, sample, effects)
    values = np.unique([value for value in present if math.isfinite(value)]).astype(np.float64)
    count = values.size
    if count > limit:
        values = values[np.linspace(0, count - 1, limit).round().astype(int)]
    remark = f"{limit} of {count:,} steps of {shorten(title)}, evenly chosen"
    remarks = [remark] if is_stepped and count > limit else []
    return NumberLine(title, values, has_missing, is_stepped), remarks


def _by_effect(grid: Array, effects: Vector | None) -> list[str]:
    """Return the distinct strings of a grid, those with the largest mean effect first."""
    found: dict[str, list[float]] = {}
    for place, value in enumerate(grid.tolist()):
        if not is_missing(value):
            effect = 0.0 if effects is None else float(effects[place])
            found.setdefault(str(value), []).append(effect if math.isfinite(effect) else -math.inf)
    return sorted(found, key=lambda value: -float(np.mean(found[value])))


def _categories(
    title: str, values: list[str], sample: Array, limit: int, has_missing: bool
) -> Categories:
    frequency = Counter(sample.tolist())
    most_frequent = set(sorted(values, key=lambda value: -frequency[value])[:limit])
    shown = [value for value in values if value in most_frequent]
    short = distinguish(shorten_inside(name, _CATEGORY_LENGTH) for name in distinguish(shown))
    return Categories(title, dict(zip(shown, short, strict=True)), has_missing)


def _left_out(
    count: int, limit: int, title: str, sample: Array, effects: Vector | None
) -> list[str]:
    """Return a remark on strings left out, and how the others were chosen."""
    if count <= limit:
        return []
    if sample.size:
        return [f"{limit} most frequent of {count} values of {shorten(title)}"]
    chosen = "those with the highest predictions" if effects is not None else "the first"
    return [f"{limit} of {count} values of {shorten(title)}, {chosen}"]


def round_numbers(low: float, high: float) -> Vector:
    """Return about six multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICK_COUNT
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return np.array([step * multiple for multiple in range(first, last + 1)])
