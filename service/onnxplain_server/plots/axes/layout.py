"""Layout of the axis of a feature's values: a number line, or a list of categories.

Both give each value a position, and missing values a position of their own after the others.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.groups import free_label
from onnxplain_server.plots.axes.missing_values import MISSING, is_missing
from onnxplain_server.plots.axes.number_line import NumberLine, fits_line
from onnxplain_server.plots.elements.labels import clean, short_names, shorten, shorten_apart
from onnxplain_server.plots.elements.number_formats import not_finite, scale_format, spell_apart
from onnxplain_server.plots.elements.style import Spec
from onnxplain_server.plots.elements.text_width import label_angle

_MOST_LISTED = 40  # numbers, where no line can show them


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Axis of a text feature, or of numbers that no line can show.

    Attributes
    ----------
    title : str
    labels : dict of value to str
        Label of each value, in order.
    has_missing : bool
    """

    title: str
    labels: dict[Any, str]
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
            return self.labels.get(value) or shorten(clean(str(value)), _CATEGORY_LENGTH)
        return free_label(MISSING, "no value", set(self.labels.values()))

    def channel(self, *, width: float | None = None) -> Spec:
        """Return scale and axis of a list.

        Parameters
        ----------
        width : float or None
            Pixels of a list that runs to the right, whose labels turn until they fit; None for one
            that runs down.
        """
        sort = [*self.labels.values(), *([self.text(None)] if self.has_missing else [])]
        axis: Spec = {"title": self.title}
        if width is not None:
            axis |= {"labelAngle": label_angle(sort, width / max(len(sort), 1))}
        return {"type": "nominal", "sort": sort, "axis": axis}


Axis: TypeAlias = NumberLine | Categories

PANEL_TITLE_LENGTH = 30
"""Characters of the title of an axis in a panel."""
_CATEGORY_LENGTH, _PANEL_CATEGORY_LENGTH = 42, 20


def in_panel(axis: Axis) -> Axis:
    """Shorten the title of an axis to the width of a panel, and the labels of categories."""
    title = shorten(axis.title, PANEL_TITLE_LENGTH)
    if isinstance(axis, NumberLine):
        return replace(axis, title=title)
    labels = shorten_apart([*axis.labels.values()], _PANEL_CATEGORY_LENGTH)
    return replace(axis, title=title, labels=dict(zip(axis.labels, labels, strict=True)))


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
    if grid.dtype.kind in "OU" or not present:
        ordered = _by_effect(grid, effects)
        axis = _categories(title, ordered, sample, limit, has_missing)
        return axis, _left_out(len(ordered), limit, title, sample, effects)
    every = np.unique(np.array(present, np.float64))
    finite = every[np.isfinite(every)]
    if not finite.size:
        return Categories(title, {v: not_finite(v) for v in every.tolist()}, has_missing), []
    is_line = fits_line(finite)
    limit = limit if is_line else min(limit, _MOST_LISTED)
    values, remarks = _thinned(finite, limit, title, "steps" if is_stepped else "values")
    if is_line:
        line = NumberLine(title, values, has_missing, is_stepped, finite)
        return line, remarks if is_stepped else []
    labels = {value: spell_apart(value, finite, scale_format(finite)) for value in values.tolist()}
    return Categories(title, labels, has_missing), remarks


def _thinned(values: Vector, limit: int, title: str, noun: str) -> tuple[Vector, list[str]]:
    """Return at most `limit` values, evenly chosen, and a remark where some are left out."""
    count = values.size
    if count <= limit:
        return values, []
    chosen = values[np.linspace(0, count - 1, limit).round().astype(int)]
    return chosen, [f"{limit} of {count:,} {noun} of {shorten(title)}, evenly chosen"]


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
    return Categories(title, short_names(shown, _CATEGORY_LENGTH), has_missing)


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
