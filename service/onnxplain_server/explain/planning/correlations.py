"""Correlated features of an overview: pairs that go together, one of which has a curve."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.number_texts import between_zero_and_one
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.methods.partial_dependence import PartialDependenceCurve as Curve

_LEAST = 0.7
"""Size of a correlation from which on two features are told."""
_MOST_TOLD = 3


def notes_of_overview(request: BoundRequest, curves: Sequence[Curve]) -> tuple[Note, ...]:
    """Name features that go together with one that has a curve; nothing of tables in blocks."""
    drawn = {name for curve in curves for name in curve.features}
    if request.resources.streamed is not None or not drawn:
        return ()
    features, weights = request.sample.features, request.sample.weights
    return correlation_notes(features.names, features.columns, weights, drawn)


def correlation_notes(
    names: Sequence[str], columns: Sequence[Array], weights: Vector, drawn: Collection[str]
) -> tuple[Note, ...]:
    """Name the pairs of features that go together most; nothing where there are none.

    Parameters
    ----------
    names, columns
        Features, and their values: (n_rows,) each; texts have no correlation.
    weights : (n_rows,)
    drawn : collection of str
        Features with a curve: one of each pair at least.
    """
    pairs = _correlations(names, columns, weights, drawn)
    strong = sorted((pair for pair in pairs if abs(pair[0]) >= _LEAST), key=lambda p: -abs(p[0]))
    if not strong:
        return ()
    told = [f"{one} and {other} ({_written(value)})" for value, one, other in strong[:_MOST_TOLD]]
    more = len(strong) - len(told)
    told += [f"{more} pair{'s' if more > 1 else ''} more"] if more else []
    listed = ", ".join(told)
    message = (
        f"Correlated features: {listed}. Curves over one of a pair lead through combinations that "
        "few rows have."
    )
    return (Note(InputWarning.CORRELATED_FEATURES, message),)


def _written(correlation: float) -> str:
    return between_zero_and_one(correlation, f"{correlation:.2f}".replace("-", "−"))


def _correlations(
    names: Sequence[str], columns: Sequence[Array], weights: Vector, drawn: Collection[str]
) -> Iterator[tuple[float, str, str]]:
    """Yield the correlation of each pair with a curve, the names in the order of the table.

    Only the columns with a curve are held, however many others there are.
    """
    shares = weights / weights.sum()
    own: dict[str, Vector] = {}
    for name, column in zip(names, columns, strict=True):
        if name in drawn and (values := _standardized(column, weights)) is not None:
            own[name] = shares * values
    places = {name: at for at, name in enumerate(names)}
    for at, (name, column) in enumerate(zip(names, columns, strict=True)):
        others = [other for other in own if name not in drawn or places[other] > at]
        values = _standardized(column, weights) if others else None
        if values is None:
            continue
        for other in others:
            first, second = (name, other) if at < places[other] else (other, name)
            yield float(own[other] @ values), first, second


def _standardized(column: Array, weights: Vector) -> Vector | None:
    """Return values of mean 0 and deviation 1, missing ones at the mean; None without a spread."""
    if column.dtype.kind not in "fiub":
        return None
    values = column.astype(np.float64)
    known = np.isfinite(values)
    own = np.where(known, weights, 0.0)
    if not own.sum() > 0:
        return None
    largest = float(np.abs(np.where(known, values, 0.0)).max())
    if not largest > 0:
        return None
    shares, scaled = own / own.sum(), np.where(known, values / largest, 0.0)
    centered: Vector = np.where(known, scaled - shares @ scaled, 0.0)
    spread = float(np.sqrt(shares @ centered**2))
    return centered / spread if spread > 1e-9 else None
