"""Plots of individual conditional expectation: a thin curve per row, and their bold mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.methods.individual_conditional_expectation import Curves, Result, center_index
from onnxplain_server.plots.axes.layout import Axis, lay_axis
from onnxplain_server.plots.axes.number_line import NumberLine
from onnxplain_server.plots.claims.directions import ends_of_trend
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import (
    distinguish,
    enumerate_words,
    identifiers,
    shorten,
    with_value,
)
from onnxplain_server.plots.elements.number_formats import (
    NOT_SHOWN,
    drawable,
    is_flat,
    spell_on_scale,
)
from onnxplain_server.plots.elements.selection import comparable, most_moved
from onnxplain_server.plots.elements.splits import Split, no_split, split
from onnxplain_server.plots.elements.style import MOST_SERIES
from onnxplain_server.plots.marks import bundles
from onnxplain_server.plots.marks.bundles import Bundle
from onnxplain_server.plots.marks.curves import Legend
from onnxplain_server.plots.units.naming import spoken

_MAX_CURVES = 100  # of one output
_MAX_POINTS, _MAX_CATEGORIES = 100, 40  # along the feature
_MAX_STEPS = 400  # along a feature with a stepped grid
_MAX_PANELS = 12
_ROUNDING = 1e-6  # of the largest prediction


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """Content of one plot, before curves are thinned out.

    Attributes
    ----------
    outputs : tuple of str
    grid : (n_points,)
    rows : (n_rows,)
        Numbers of the rows in the table.
    values : (n_rows, n_points, n_outputs)
    colours, panels : Split
        Groups of these rows by colour and by panel.
    own : (n_rows,) or None
        The rows' own values of the feature, where they are known.
    """

    outputs: tuple[str, ...]
    grid: Array
    rows: Indices
    values: Cube
    colours: Split
    panels: Split
    own: Array | None = None


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw each single feature; names are like "individual-age".

    Joint features have no plot: each row has a surface, and a hundred surfaces cannot be shown.
    """
    drawn = [_draw(curves, result) for curves in result.curves if len(curves.features) == 1]
    names = identifiers(plot.name for plot in drawn)
    return tuple(replace(plot, name=name) for plot, name in zip(drawn, names, strict=True))


def _draw(curves: Curves, result: Result) -> Plot:
    view = _view(curves, result)
    axis, too_fine = _axis(curves, view)
    drawn = list(_bundles(view))
    legend = Legend(
        title=view.colours.title,
        labels=view.colours.labels,
        panels=tuple(dict.fromkeys(bundle.panel for bundle in drawn)),
        common_scale=comparable(view.values.reshape(-1, len(view.outputs))),
    )
    zero = _zero(view, axis, result.centered)
    body = bundles.draw(axis, view.grid, drawn, legend, _value_title(view, zero))
    outputs = spoken(view.outputs, len(result.output_names))
    title = f"Individual conditional expectation of {outputs} on {shorten(axis.title)}{_by(view)}"
    remarks = [
        *_finding(view, axis),
        *([f"Each curve is shifted to 0 at {zero}"] if zero else []),
        *_curves_shown(view),
        *_left_out(view, result),
        *too_fine,
    ]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(f"individual-{curves.features[0]}", title, remarks, description, body)


def _axis(curves: Curves, view: _View) -> tuple[Axis, list[str]]:
    (feature,), (grid,) = curves.features, curves.grid
    means = view.values.mean(axis=0)
    effects = means[:, _widest(means)]
    limit = _MAX_STEPS if curves.is_stepped else _MAX_POINTS
    limit = _MAX_CATEGORIES if grid.dtype.kind in "OU" else limit
    return lay_axis(
        feature, grid, np.empty(0), limit, effects=effects, is_stepped=curves.is_stepped
    )


def _view(curves: Curves, result: Result) -> _View:
    """Choose outputs and groups, and the rows of these groups."""
    columns = most_moved(drawable(curves.values.reshape(-1, len(result.output_names))))
    colours = _split(result, 0, MOST_SERIES)
    panels = _split(result, 1, max(1, _MAX_PANELS // len(columns)))
    shown = np.flatnonzero((colours.codes >= 0) & (panels.codes >= 0))
    return _View(
        outputs=tuple(distinguish(result.output_names)[column] for column in columns),
        grid=curves.grid[0],
        rows=result.row_indices[shown],
        values=drawable(curves.values[shown][:, :, columns]),
        colours=replace(colours, codes=colours.codes[shown]),
        panels=replace(panels, codes=panels.codes[shown]),
        own=curves.own[0][shown] if curves.own else None,
    )


def _split(result: Result, place: int, limit: int) -> Split:
    if place >= len(result.group_columns):
        return no_split(len(result.row_indices))
    return split(result.group_columns[place], result.groups[place], limit)


def _bundles(view: _View) -> Iterator[Bundle]:
    """Split rows by output, panel and colour; the rows with thin curves are evenly spaced."""
    n_rows = len(view.rows)
    thin = np.zeros(n_rows, bool)
    thin[np.linspace(0, n_rows - 1, min(n_rows, _MAX_CURVES)).round().astype(int)] = True
    for column, output in enumerate(view.outputs):
        for panel, panel_label in enumerate(view.panels.labels):
            for colour, label in enumerate(view.colours.labels):
                here = (view.panels.codes == panel) & (view.colours.codes == colour)
                if here.any():
                    values: Matrix = view.values[:, :, column]
                    yield Bundle(
                        label=label,
                        panel=_joined([output] if len(view.outputs) > 1 else [], panel_label),
                        rows=tuple(view.rows[here & thin].tolist()),
                        values=values[here & thin],
                        mean=values[here].mean(axis=0),
                        own=None if view.own is None else view.own[here & thin],
                    )


def _joined(output: Sequence[str], panel: str) -> str:
    return ", ".join([*output, *([panel] if panel else [])])


def _by(view: _View) -> str:
    titles = [shorten(one.title, 24) for one in (view.colours, view.panels) if one.title]
    return f", by {enumerate_words(titles)}" if titles else ""


def _value_title(view: _View, zero: str) -> str:
    only = f" of {shorten(view.outputs[0])}" if len(view.outputs) == 1 else ""
    return f"Prediction{only}{f', 0 at {zero}' if zero else ''}"


def _zero(view: _View, axis: Axis, centered: bool) -> str:
    """Name the point at which centered curves are 0; empty if they are not centered."""
    point = axis.text(view.grid[center_index(view.grid)])
    return with_value(shorten(axis.title, 20), shorten(point, 20)) if centered else ""


def _finding(view: _View, axis: Axis) -> Iterator[str]:
    """Return sentences on the extremes of the mean, and on the agreement of single curves."""
    means = view.values.mean(axis=0)
    column = _widest(means)
    mean, curves = means[:, column], view.values[:, :, column]
    subject = f"{shorten(view.outputs[column])} moves most, on" if len(view.outputs) > 1 else "On"
    if not np.isfinite(mean).all():
        yield "Some predictions are not finite, or too large for this picture"
        return
    if is_flat(curves):
        yield "The predictions stay the same"
    elif is_flat(mean):
        yield f"{subject} average the prediction stays the same"
    else:
        trend = ends_of_trend(view.grid, mean, None) if isinstance(axis, NumberLine) else None
        way, *places = trend or ("", int(np.argmin(mean)), int(np.argmax(mean)))
        first, last = (
            f"{spell_on_scale(mean[at], mean)} at {axis.text(view.grid[at])}" for at in places
        )
        subject = f"{subject} average"
        if way:
            subject = subject.replace(" moves most, on", " moves most: on")
            yield f"{subject} it {way} from {first} to {last}"
        else:
            yield f"{subject}: lowest {first}; highest {last}"
    if isinstance(axis, NumberLine):
        yield from _agreement(view.grid, curves)


def _widest(means: Matrix) -> int:
    """Return the output whose mean curve has the widest range: (n_points, n_outputs)."""
    return int(np.argmax(np.nan_to_num(np.ptp(means, axis=0))))


def _agreement(grid: Array, curves: Matrix) -> Iterator[str]:
    """Return a sentence that counts the curves that rise and fall from end to end."""
    finite = np.flatnonzero(np.isfinite(grid))
    if finite.size < 2:
        return
    first, last = finite[np.argmin(grid[finite])], finite[np.argmax(grid[finite])]
    steps = curves[:, last] - curves[:, first]
    rounding = _ROUNDING * np.abs(curves).max()
    up, down = int((steps > rounding).sum()), int((steps < -rounding).sum())
    count = len(curves)
    if count in (up, down):
        yield f"From end to end all {count} curves {'rise' if up else 'fall'}"
    else:
        yield f"From end to end {up} of {count} curves rise and {down} fall"


def _curves_shown(view: _View) -> Iterator[str]:
    shown, total = min(len(view.rows), _MAX_CURVES), len(view.rows)
    bold = "their mean, unweighted" if shown == total else f"the unweighted mean of all {total}"
    thin = f"{shown} of {total} rows, evenly spread" if shown < total else f"{total} rows"
    dots = "" if view.own is None else ". Dots: the rows' own values"
    yield f"Thin: single rows ({thin}). Bold: {bold}{dots}"
    if total > 1 and np.isfinite(view.values).all():
        spread, largest = np.ptp(view.values, axis=0), np.abs(view.values).max()
        if spread.max() <= _ROUNDING * largest:
            yield "All curves are the same, so they lie under their mean"


def _left_out(view: _View, result: Result) -> Iterator[str]:
    yield from (*view.colours.remarks, *view.panels.remarks)
    if len(view.outputs) < len(result.output_names):
        count = f"{len(view.outputs)} of {len(result.output_names)}"
        yield f"{count} outputs, those that move most"
    broken = int((~np.isfinite(view.values)).sum())
    if broken:
        yield f"{NOT_SHOWN}: {broken} of {view.values.size} values"


DRAWING = Drawing(plots=plots)
