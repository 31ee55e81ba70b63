"""What the data say against an estimator that assumes something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.methods.firm.binding import BoundFeature
from onnxplain_server.methods.firm.options import Estimator
from onnxplain_server.methods.firm.weighted_scores import WeightedScores

_TOLD = 0.25
"""Difference from the spread of bin means, as a share of it, from which it is told."""
MIN_ROWS_PER_VALUE = 5
"""Rows of each of two values from which the spread of their difference is told."""

_BLIND = {
    Estimator.SLOPE: Note(
        "SLOPE_BLIND",
        "A slope does not see a score that rises and falls again; ask for BINNED. The expected "
        "score of these features is no straight line: ",
    ),
    Estimator.TAYLOR: Note(
        "TAYLOR_BLIND",
        "The gradient at the mean does not see curvature; ask for BINNED. The expected score of "
        "these features spreads otherwise than it says: ",
    ),
    Estimator.GAUSSIAN: Note(
        "GAUSSIAN_OFF",
        "The closed form is for columns that are jointly Gaussian; ask for BINNED. The expected "
        "score of these features spreads otherwise than it says: ",
    ),
}


def notes(bounds: Sequence[BoundFeature], draw: WeightedScores) -> Iterator[Note]:
    """Tell which features an estimator is blind to."""
    for estimator, note in _BLIND.items():
        wrong = tuple(
            bound.expression.text
            for bound in bounds
            if bound.measure.estimator is estimator and _disagrees(bound, draw)
        )
        if wrong:
            yield Note(note.code, f"{note.message}{listed(wrong)}.")


def constant_notes(bounds: Sequence[BoundFeature]) -> Iterator[Note]:
    """Name features of which nothing can be said."""
    same = tuple(bound.expression.text for bound in bounds if bound.bins.count == 1)
    if same:
        yield Note(
            "CONSTANT_FIRM_FEATURE",
            f"The same in every row, so their importance is 0: {listed(same)}.",
        )


def rare_notes(bounds: Sequence[BoundFeature], *, is_resampled: bool) -> Iterator[Note]:
    """Name features of which a handful of rows has one value, so that no spread is told."""
    rare = tuple(
        bound.expression.text
        for bound in bounds
        if bound.bins.is_two_valued and rarer_count(bound) < MIN_ROWS_PER_VALUE
    )
    if is_resampled and rare:
        yield Note(
            "FEW_ROWS",
            f"Fewer than {MIN_ROWS_PER_VALUE} rows have one of the two values, too few for a "
            f"standard error or an interval, so these are NaN: {listed(rare)}.",
        )


def unmeasured_notes(bounds: Sequence[BoundFeature], raws: Matrix) -> Iterator[Note]:
    """Name features whose importance is NaN, since each of their bins is one row's."""
    unknown = tuple(
        bound.expression.text
        for bound, raw in zip(bounds, raws, strict=True)
        if np.isnan(raw).any()
    )
    if unknown:
        yield Note(
            "FEW_ROWS",
            "Each bin has the weight of a single row, so noise cannot be told from signal, and the "
            "importance is NaN; more rows or fewer bins (`bin_count`) give a number, and so does "
            f"`keep_bias`, one that is too large: {listed(unknown)}.",
        )


def rarer_count(bound: BoundFeature) -> int:
    """Count the rows of the rarer value."""
    return int(np.bincount(bound.bins.codes.astype(np.intp), minlength=bound.bins.count).min())


def _disagrees(bound: BoundFeature, draw: WeightedScores) -> bool:
    """Compare with the spread of bin means, by more than rows make them scatter."""
    found = draw.bin_statistics(bound.bins)
    seen = np.maximum(found.between - found.noise, 0.0)
    raw = bound.measure.raw(draw)
    told = raw**2 if bound.measure.is_signed else raw
    bins = max(bound.bins.count - 1, 1)
    chance = 4 * (found.noise * np.sqrt(2 / bins) + 2 * np.sqrt(seen * found.noise / bins))
    apart = np.abs(np.sqrt(seen) - np.sqrt(told)) > _TOLD * np.sqrt(np.maximum(seen, told))
    return bool((apart & (np.abs(seen - told) > chance)).any())
