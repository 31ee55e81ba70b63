"""Ranking of features for bar charts: the strongest bars, the finding, and remarks on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.labels import (
    clean,
    distinguish,
    enumerate_words,
    quoted,
    shorten,
)
from onnxplain_server.plots.elements.number_formats import NOT_SHOWN, drawable, spell_beside
from onnxplain_server.plots.elements.style import MOST_SERIES
from onnxplain_server.plots.marks.bars import JOINT, Bars, ErrorBars, in_lines, labels_of

MOST_BARS = 15
"""Largest number of rows in one plot."""

_MAX_NAMED_OUTPUTS = 4  # in a sentence


def strongest(
    features: Sequence[tuple[str, ...]],
    values: Matrix,
    output_names: tuple[str, ...],
    joint: str = JOINT,
    *,
    errors: ErrorBars | None = None,
    p_values: Matrix | None = None,
    directions: Matrix | None = None,
) -> Bars:
    """Choose rows and outputs by their sums; rows of zeros only if there is nothing else.

    Parameters
    ----------
    features : sequence of tuples of str
        Features of each row, joined by `joint`.
    values : (n_rows, n_outputs)
    errors : ErrorBars or None
    p_values, directions : (n_rows, n_outputs), or None
    """
    values = drawable(values)
    is_nonzero = ~(values == 0).all(axis=1)
    order = by_sum(values)
    rows = (order[is_nonzero[order]] if is_nonzero.any() else order)[:MOST_BARS]
    columns = strongest_outputs(values)
    return Bars(
        names=tuple(_joined(features[row], joint) for row in rows),
        labels=tuple(in_lines(t, joint) for t in labels_of([features[r] for r in rows], joint)),
        outputs=tuple(distinguish(output_names)[column] for column in columns),
        columns=tuple(columns.tolist()),
        values=values[np.ix_(rows, columns)],
        total=len(features),
        nonzero=int(is_nonzero.sum()),
        broken=int((~np.isfinite(values[:, columns])).sum()),
        errors=None if errors is None else errors.take(rows, columns),
        p_values=None if p_values is None else p_values[np.ix_(rows, columns)],
        directions=None if directions is None else directions[np.ix_(rows, columns)],
    )


def by_sum(values: Matrix) -> Indices:
    """Return the rows of values, (n_rows, n_outputs), the largest sum over outputs first."""
    finite = np.where(np.isfinite(values), values, 0.0)
    return np.argsort(-finite.sum(axis=1), kind="stable")


def _joined(features: tuple[str, ...], joint: str) -> str:
    return joint.join(quoted(clean(name), joint) for name in features)


def strongest_outputs(values: Matrix) -> Indices:
    """Return the outputs, (n_shown,), with the largest sums of values: (n_rows, n_outputs)."""
    sums = np.where(np.isfinite(values), values, 0.0).sum(axis=0)
    return np.sort(np.argsort(-sums, kind="stable")[:MOST_SERIES])


def finding(bars: Bars) -> str:
    """Name the strongest row with its value, and the next two; or those that lead together."""
    if bars.nonzero == 0:
        return "none found"
    if not np.isfinite(bars.values).any():
        return "no value is finite"
    sums = np.where(np.isfinite(bars.values), bars.values, 0.0).sum(axis=1)
    leading = leaders(sums, _standard_errors(bars))
    if not leading:
        return "some values are not finite" if bars.broken else "none is above 0 beyond its error"
    names = [" ".join(text.split("\n")) for text in bars.labels]
    numbers = [each(bars.outputs, row, bars.values) for row in bars.values]
    if len(leading) > 1:
        told = [f"{names[at]} at {numbers[at]}" for at in leading[:3]]
        more = [f"{len(leading) - 3} more"] if len(leading) > 3 else []
        return f"no one stands out: {enumerate_words([*told, *more])}"
    is_told = np.isfinite(bars.values).all(axis=1) & (sums > 0)
    first, finite = leading[0], np.flatnonzero(is_told).tolist()
    others = [at for at in finite if at != first][:2]
    told = [
        f"{names[at]} at {numbers[at]}" if len(bars.outputs) == 1 else names[at] for at in others
    ]
    together = " over these outputs together," * (len(bars.outputs) > 1)
    strongest_row = f"{names[first]} is strongest{together} at {numbers[first]}"
    return f"{strongest_row}, then {enumerate_words(told)}" if told else strongest_row


def _standard_errors(bars: Bars) -> Vector | None:
    """Return the standard errors of bars: (n_rows,); None for several outputs, and without."""
    if bars.errors is None or len(bars.outputs) > 1:
        return None
    width = (bars.errors.high - bars.errors.low)[:, 0] / 2
    confidence = bars.errors.confidence
    return width / NormalDist().inv_cdf((1 + confidence) / 2) if confidence else width


def each(outputs: tuple[str, ...], values: Vector, beside: Array) -> str:
    """Write one number, or one for each output with the output's name.

    Parameters
    ----------
    beside : (n_outputs,) or (n_rows, n_outputs)
        Numbers beside which others are tiny; of rows, only those of the same output.
    """
    others = beside.T if beside.ndim == 2 else [beside] * len(values)
    numbers = [spell_beside(value, column) for value, column in zip(values, others, strict=True)]
    if len(numbers) == 1:
        return numbers[0]
    pairs = zip(outputs, numbers, strict=True)
    phrases = [f"{number} for {shorten(output, 24)}" for output, number in pairs]
    if len(phrases) <= _MAX_NAMED_OUTPUTS:
        return enumerate_words(phrases)
    finite = np.where(np.isfinite(values), values, 0.0)
    if len(set(numbers)) == 1:
        return f"{numbers[0]} for each output shown"
    return f"{phrases[int(np.argmax(finite))]}, down to {phrases[int(np.argmin(finite))]}"


def counts(noun: str, bars: Bars, output_count: int) -> list[str]:
    """Return remarks on rows, outputs and values that are not shown; `noun` names a row."""
    remarks = [] if bars.nonzero else [f"Every {noun} is at 0"]
    if bars.nonzero > len(bars.labels):
        remarks.append(f"{len(bars.labels)} strongest of {bars.total} {noun}s")
    elif bars.nonzero not in (0, bars.total):
        left = bars.total - bars.nonzero
        others = "the other is" if left == 1 else "the others are"
        remarks.append(f"{bars.nonzero} of {bars.total} {noun}s; {others} at 0")
    elif bars.nonzero == 0 and bars.total > len(bars.labels):
        remarks.append(f"First {len(bars.labels)} of {bars.total} {noun}s")
    if output_count > len(bars.outputs):
        remarks.append(f"{len(bars.outputs)} strongest of {output_count} outputs")
    if bars.broken:
        value_count = bars.total * len(bars.outputs)
        remarks.append(f"{NOT_SHOWN}: {bars.broken} of {value_count} values")
    return remarks
