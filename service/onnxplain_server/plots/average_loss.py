"""Average loss as bars: one for each output, or for all rows and each group of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.average_loss import AverageLoss, Result
from onnxplain_server.methods.losses import is_score
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import (
    clean,
    distinguish,
    shorten,
    shorten_apart,
    spell_interval,
)
from onnxplain_server.plots.elements.number_formats import (
    NOT_SHOWN,
    drawable,
    spell_beside,
)
from onnxplain_server.plots.elements.style import MOST_SERIES
from onnxplain_server.plots.marks.bars import Bars, BarTitles, ErrorBars, draw
from onnxplain_server.plots.marks.ranking import MOST_BARS, each
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import units_of
from onnxplain_server.plots.units.shown_losses import ShownLoss

_LABEL_LENGTH = 42  # characters


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw bars of average losses: one plot, "average-loss"."""
    loss = ShownLoss.of(result.loss, result.output_names)
    name = heading = loss.heading(result.output_names)
    unit = loss.unit(result.output_names, units_of(result.output_names))
    if len(result.output_names) > 1:
        name += f" for {spoken(result.output_names, len(result.output_names))}"
    grouped = any(one.group for one in result.losses)
    column = shorten(clean(result.group_column or "group"), 30)
    title = f"{name}, by {column}" if grouped else name
    result = _with_shown_losses(result, loss)
    bars = _groups(result) if grouped else _outputs(result)
    remarks = [*_finding(bars, grouped), *_left_out(result, bars, grouped)]
    if bars.errors is not None:
        remarks.append("Lines: ± 1 standard error, by the spread over the rows of a group")
    remarks.append(loss_names.better(result.loss))
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    noun = "score" if is_score(result.loss) else "average loss"
    words = BarTitles(column if grouped else "output", noun)
    body = draw(bars, words, f"{heading} ({unit})")
    return (finish("average-loss", title, remarks, description, body),)


def _with_shown_losses(result: Result, loss: ShownLoss) -> Result:
    losses = tuple(
        replace(
            one,
            values=loss.values(one.values),
            standard_errors=None
            if one.standard_errors is None
            else loss.errors(one.values, one.standard_errors),
        )
        for one in result.losses
    )
    return replace(result, losses=losses, total=loss.values(result.total))


def _groups(result: Result) -> Bars:
    """Return a bar for all rows used, and one for each of the largest groups."""
    shares = np.array([one.share for one in result.losses])
    losses = np.array([one.values for one in result.losses])
    rows = np.sort(np.argsort(-shares, kind="stable")[: MOST_BARS - 1])
    overall = result.total
    names = ["all rows used", *(_group_label(result.losses[row]) for row in rows)]
    columns = _worst(result, overall, MOST_SERIES)
    outputs = [distinguish(result.output_names)[column] for column in columns]
    bars = _bars(names, outputs, columns, np.vstack([overall, losses[rows]])[:, columns])
    return replace(bars, errors=_errors(result, rows.tolist(), columns, bars.values))


def _group_label(loss: AverageLoss) -> str:
    """Name a group with its number of rows."""
    name = spell_interval(loss.group)
    return f"{name} (n = {loss.row_count:,})" if loss.row_count else name


def _errors(
    result: Result, rows: Sequence[int], columns: Sequence[int], values: Matrix
) -> ErrorBars | None:
    """Return one standard error to either side of the bars of groups; none of all rows."""
    errors = [result.losses[row].standard_errors for row in rows]
    if not any(one is not None for one in errors):
        return None
    absent = np.full(values.shape[1], np.nan)
    found = np.array([absent, *(absent if e is None else e[list(columns)] for e in errors)])
    return ErrorBars(values - found, values + found)


def _outputs(result: Result) -> Bars:
    """Return a bar for each of the outputs that are predicted worst."""
    (only,) = result.losses
    rows = _worst(result, only.values, MOST_BARS)
    names = [result.output_names[row] for row in rows]
    return _bars(names, [""], [0], only.values[rows, None])


def _worst(result: Result, values: Vector, limit: int) -> list[int]:
    losses = -values if is_score(result.loss) else values
    return sorted(np.argsort(-np.nan_to_num(losses), kind="stable")[:limit].tolist())


def _bars(
    names: Sequence[str], outputs: Sequence[str], columns: Sequence[int], values: Matrix
) -> Bars:
    full_names, values = distinguish(names), drawable(values)
    return Bars(
        names=full_names,
        labels=shorten_apart(full_names, _LABEL_LENGTH),
        outputs=tuple(outputs),
        columns=tuple(columns),
        values=values,
        total=len(names),
        nonzero=int((values != 0).any(axis=1).sum()),
        broken=int((~np.isfinite(values)).sum()),
    )


def _finding(bars: Bars, grouped: bool) -> list[str]:
    """Return sentences on the loss of all rows, and the smallest and largest one."""
    over_all = each(bars.outputs, bars.values[0], bars.values)
    if len(bars.labels) == 1:
        return [f"Over all rows used: {over_all}"]
    sentences = [f"Over all rows used: {over_all}"] if grouped else []
    sums = bars.values[1:].sum(axis=1) if grouped else bars.values.sum(axis=1)
    if len(sums) == 1 or not np.isfinite(sums).all():
        return sentences
    labels = bars.labels[1:] if grouped else bars.labels
    low, high = int(np.argmin(sums)), int(np.argmax(sums))
    if spell_beside(sums[low], sums) == spell_beside(sums[high], sums):
        return [*sentences, "The same for all bars"]
    smallest, largest = f"Smallest for {labels[low]}", f"largest for {labels[high]}"
    if len(bars.outputs) == 1:
        smallest += f" at {spell_beside(sums[low], bars.values)}"
        largest += f" at {spell_beside(sums[high], bars.values)}"
    return [*sentences, f"{smallest}, {largest}"]


def _left_out(result: Result, bars: Bars, grouped: bool) -> list[str]:
    remarks = []
    outputs = len(bars.outputs) if grouped else len(bars.labels)
    if grouped and len(bars.labels) <= len(result.losses):
        remarks.append(f"{len(bars.labels) - 1} largest of {len(result.losses)} groups")
    if outputs < len(result.output_names):
        remarks.append(f"{outputs} worst of {len(result.output_names)} outputs")
    if bars.broken:
        remarks.append(f"{NOT_SHOWN}: {bars.broken} of {bars.values.size} values")
    return remarks


DRAWING = Drawing(plots=plots)
