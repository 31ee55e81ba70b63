"""Diagnostics of FIRM: notes on estimators whose assumptions the data contradict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.firm.binding import BoundFeature
from onnxplain_server.methods.firm.bins import Bins
from onnxplain_server.methods.firm.measures import Binned, Smooth
from onnxplain_server.methods.firm.options import Estimator
from onnxplain_server.methods.firm.weighted_scores import WeightedScores
from onnxplain_server.methods.resampling import RowUnits

_TOLERANCE = 0.25
"""Relative difference from the spread of bin means, beyond which an estimator is reported."""
MIN_ROWS_PER_VALUE = 5
"""Least number of rows of each of two values for a standard error of their difference."""

_BLIND = {
    Estimator.SLOPE: Note(
        MethodWarning.SLOPE_BLIND,
        "SLOPE does not detect a score that rises and falls again; use BINNED. The expected "
        "score is not linear in these features: ",
    ),
    Estimator.TAYLOR: Note(
        MethodWarning.TAYLOR_BLIND,
        "The gradient at the mean does not detect curvature; use BINNED. The spread of the "
        "expected score differs from the estimate for these features: ",
    ),
    Estimator.GAUSSIAN: Note(
        MethodWarning.GAUSSIAN_OFF,
        "The closed form assumes jointly Gaussian columns; use BINNED. The spread of the "
        "expected score differs from the estimate for these features: ",
    ),
}

_SINGLE_ROWS = Note(
    MethodWarning.FEW_ROWS,
    "Each bin has the weight of a single row, so noise cannot be separated from signal, and the "
    "importance is NaN; more rows or fewer bins (`bin_count`, or fewer features in a group) give a "
    "number, and so does `keep_bias`, one that is too large: ",
)
_NO_RESIDUALS = Note(
    MethodWarning.FEW_ROWS,
    "A few rows hold nearly all the weight, so the spline of SMOOTH leaves no residuals to "
    "estimate noise from, and the importance is NaN; more rows or less unequal weights give a "
    "number, and so does `keep_bias`, one that is too large: ",
)
_OVERFLOW = Note(
    MethodWarning.FIRM_OVERFLOW,
    "Squares or sums of the score or of columns exceed the range of float64, so the importance "
    "is NaN; rescale the model's output or these features: ",
)


def notes(bounds: Sequence[BoundFeature], scores: WeightedScores) -> Iterator[Note]:
    """Warn of features for which an estimator disagrees with the bins."""
    for estimator, note in _BLIND.items():
        wrong = tuple(
            bound.expression.text
            for bound in bounds
            if bound.measure.estimator is estimator
            and bound.bins.count > 1
            and _disagrees(bound, scores)
        )
        if wrong:
            yield replace(note, message=f"{note.message}{listed(wrong)}.")


def constant_notes(bounds: Sequence[BoundFeature]) -> Iterator[Note]:
    """Warn of features with a single value."""
    constant = tuple(bound.expression.text for bound in bounds if bound.bins.count == 1)
    if constant:
        yield Note(
            MethodWarning.CONSTANT_FIRM_FEATURE,
            f"Constant in all rows, so their importance is 0: {listed(constant)}.",
        )


def text_notes(bounds: Sequence[BoundFeature]) -> Iterator[Note]:
    """Warn of features most of whose texts share a bin, and tell where more bins would help."""
    pooled = [bound for bound in bounds if _is_pooled(bound.bins)]
    for are_helped in (False, True):
        own = [bound for bound in pooled if bool(bound.bins.enough_count) is are_helped]
        if not own:
            continue
        cure = "measure words, as in contains(column, 'great')"
        if are_helped:
            most = max(bound.bins.enough_count for bound in own)
            cure = f"raise bin_count to {most:,}, or {cure}"
        yield Note(
            MethodWarning.TEXTS_IN_ONE_BIN,
            "More than half of the rows have texts that share one bin, because only the most "
            f"frequent ones have a bin of their own, so the importance is too small; {cure}: "
            f"{listed(tuple(bound.expression.text for bound in own))}.",
        )


def _is_pooled(bins: Bins) -> bool:
    weights = bins.totals[0]
    is_text = bins.levels.dtype == object and not bins.is_by_value
    return is_text and bool(2 * weights[-1] > weights.sum())


def rare_notes(bounds: Sequence[BoundFeature], units: RowUnits) -> Iterator[Note]:
    """Warn of features with two values, one of them too rare for a standard error."""
    rare = tuple(
        bound.expression.text
        for bound in bounds
        if bound.bins.is_two_valued and rarer_count(bound, units) < MIN_ROWS_PER_VALUE
    )
    if rare:
        yield Note(
            MethodWarning.FEW_ROWS,
            f"Fewer than {MIN_ROWS_PER_VALUE} {units.noun} have one of the two values, too few for "
            f"a standard error or an interval, so these are NaN: {listed(rare)}.",
        )


def unmeasured_notes(
    bounds: Sequence[BoundFeature], raws: Matrix, scores: WeightedScores
) -> Iterator[Note]:
    """Warn of features with importance NaN, grouped by cause."""
    features: dict[Note, list[str]] = {}
    for bound, raw in zip(bounds, raws, strict=True):
        if np.isnan(raw).any():
            note = _unmeasured(bound, np.isnan(raw), scores)
            features.setdefault(note, []).append(bound.expression.text)
    for note, texts in features.items():
        yield replace(note, message=f"{note.message}{listed(tuple(texts))}.")


def _unmeasured(bound: BoundFeature, is_nan: Array, scores: WeightedScores) -> Note:
    """Return the cause of NaN: noise without residuals to estimate it, or else overflow."""
    match bound.measure:
        case Binned():
            between, note = scores.bin_statistics(bound.bins).between, _SINGLE_ROWS
        case Smooth(spline=spline):
            between, note = spline.measure(scores.centered, scores.weights).between, _NO_RESIDUALS
        case _:
            return _OVERFLOW
    return note if np.isfinite(between[is_nan]).any() else _OVERFLOW


def rarer_count(bound: BoundFeature, units: RowUnits) -> int:
    """Count the rows of the rarest value, or the clusters that have it."""
    codes, values = bound.bins.codes.astype(np.intp), bound.bins.count
    if units.are_clusters:
        codes = np.unique(codes + values * units.codes) % values
    return int(np.bincount(codes, minlength=values).min())


def _disagrees(bound: BoundFeature, scores: WeightedScores) -> bool:
    """Return whether an estimate differs from the spread of bin means by more than chance."""
    statistics = scores.bin_statistics(bound.bins)
    noise = statistics.noise
    binned = np.maximum(statistics.between - noise, 0.0)
    raw = bound.measure.raw(scores)
    estimate = raw**2 if bound.measure.is_signed else raw
    freedom = max(bound.bins.count - 1, 1)
    chance = 4 * (noise * np.sqrt(2 / freedom) + 2 * np.sqrt(binned * noise / freedom))
    tolerance = _TOLERANCE * np.sqrt(np.maximum(binned, estimate))
    differs = np.abs(np.sqrt(binned) - np.sqrt(estimate)) > tolerance
    return bool((differs & (np.abs(binned - estimate) > chance)).any())
