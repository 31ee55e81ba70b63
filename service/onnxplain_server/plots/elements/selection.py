"""Selection of curves for a plot of partial dependence: the outputs and groups that fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.partial_dependence import PartialDependenceCurve, Result
from onnxplain_server.plots.elements.labels import clean, distinguish, spell_interval
from onnxplain_server.plots.elements.number_formats import NOT_SHOWN, drawable
from onnxplain_server.plots.elements.style import MOST_SERIES


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Values of one output for one group of rows, over the points of a grid.

    Attributes
    ----------
    row_weights : (n_points,) or None
        Weights of the rows nearest to each point, where they are known.
    predicted_means : (n_points,) or None
        Mean predictions of these rows, where they are known.
    observed_means : (n_points,) or None
        Mean true values of these rows, where they are known.
    bands : tuple of four (n_points,) arrays, or empty
        Lower and upper ends of the intervals of the values, then those of the simultaneous band.
    outside_shares : (n_points,) or None
        Shares of the rows outside the table's support, where they are known.
    """

    output: str
    group: str
    grid: tuple[Array, ...]
    values: Vector
    row_weights: Vector | None = None
    predicted_means: Vector | None = None
    observed_means: Vector | None = None
    bands: tuple[Vector, ...] = ()
    outside_shares: Vector | None = None


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Content of one plot: the curves of the same features for the outputs and groups shown.

    Attributes
    ----------
    features : tuple of str
    outputs, groups : tuple of str
        Those shown; groups are empty if rows are not grouped.
    group_column : str
        May be empty.
    pieces : tuple
    common_scale : bool
        Whether the outputs can share a scale.
    remarks : tuple of str
        Remarks on what is left out.
    is_stepped : bool
        Whether curves are constant between grid points and change at the later one.
    output_count : int
        Number of outputs, shown or not.
    confidence_level : float
        Of bands; 0 without any.
    """

    features: tuple[str, ...]
    outputs: tuple[str, ...]
    groups: tuple[str, ...]
    group_column: str
    pieces: tuple[Piece, ...]
    common_scale: bool
    remarks: tuple[str, ...]
    is_stepped: bool
    output_count: int
    confidence_level: float = 0.0


def views(result: Result) -> Iterator[View]:
    """Group the curves of a result into plots."""
    output_names = distinguish(result.output_names)
    for requested in _requests(result.curves):
        shown = _heaviest(requested)
        columns = most_moved(_values(shown))
        groups = distinguish(spell_interval(curve.group) for curve in shown)
        outputs = tuple(output_names[column] for column in columns)
        yield View(
            features=requested[0].features,
            outputs=outputs,
            groups=groups if any(curve.group for curve in requested) else (),
            group_column=clean(result.group_column) if result.group_column else "",
            pieces=tuple(
                Piece(
                    output,
                    group,
                    curve.grid,
                    drawable(curve.values[:, column]),
                    curve.row_weights,
                    _of_output(curve.predicted_means, column),
                    _of_output(curve.observed_means, column),
                    tuple(drawable(ends[:, column]) for ends in _ends(curve)),
                    outside_shares=curve.outside_shares,
                )
                for output, column in zip(outputs, columns, strict=True)
                for group, curve in zip(groups, shown, strict=True)
            ),
            common_scale=comparable(_values(shown, columns)),
            remarks=(*_left_out(requested, shown, columns), *_gaps(result, requested)),
            is_stepped=requested[0].is_stepped,
            output_count=len(output_names),
            confidence_level=result.confidence_level,
        )


def _gaps(result: Result, curves: Sequence[PartialDependenceCurve]) -> list[str]:
    """Tell why a curve has no means of true values beside it, where a target has gaps."""
    if not result.target_gaps or len(curves[0].features) > 1:
        return []
    return [f"No crosses of mean true values: {result.target_gaps}"]


def _ends(curve: PartialDependenceCurve) -> tuple[Matrix, ...]:
    """Return the ends of the intervals of a curve, then those of its simultaneous band."""
    if curve.band is None:
        return ()
    band = curve.band
    return band.lower, band.upper, band.simultaneous_lower, band.simultaneous_upper


def _of_output(numbers: Matrix | None, column: int) -> Vector | None:
    return None if numbers is None else drawable(numbers[:, column])


def _requests(curves: Iterable[PartialDependenceCurve]) -> list[list[PartialDependenceCurve]]:
    """Split curves where features change, or where a group of the same features repeats."""
    requests: list[list[PartialDependenceCurve]] = []
    for curve in curves:
        last = requests[-1] if requests else []
        is_repeated = any(curve.group == other.group for other in last)
        if not last or is_repeated or curve.features != last[0].features:
            requests.append([curve])
        else:
            last.append(curve)
    return requests


def _heaviest(curves: list[PartialDependenceCurve]) -> list[PartialDependenceCurve]:
    """Return the groups of largest weight, sorted if they are numbers or intervals."""
    ranked = sorted(range(len(curves)), key=lambda i: -curves[i].weight)
    heaviest = [curves[i] for i in sorted(ranked[:MOST_SERIES])]
    return [heaviest[i] for i in ascending([curve.group for curve in heaviest])]


def ascending(groups: Sequence[str]) -> list[int]:
    """Return positions that sort groups by number or lower bound, others last.

    Groups without any number or interval keep their order.
    """
    starts = [_start(group) for group in groups]
    if all(start is None for start in starts):
        return list(range(len(groups)))
    keys = [(start is None, start or 0.0) for start in starts]
    return sorted(range(len(groups)), key=keys.__getitem__)


def _start(group: str) -> float | None:
    """Return the lower bound of a group like "3" or "(3,5]"; None for other labels."""
    match = re.match(r"[\[(]?([-+]?\d+\.?\d*(?:e[-+]?\d+)?)(?:,|$)", group)
    return float(match[1]) if match else None


def most_moved(values: Matrix) -> list[int]:
    """Return the outputs with the largest spans of values, in their order."""
    return sorted(np.argsort(-_spans(values), kind="stable")[:MOST_SERIES].tolist())


def comparable(values: Matrix) -> bool:
    """Tell whether outputs can share a scale: probabilities, or spans of similar size.

    Values within [0, 1] count as probabilities. Otherwise each output must span at least a
    twentieth of the scale, or its curve would look flat.
    """
    finite = values[np.isfinite(values)]
    if not finite.size or (finite.min() >= 0 and finite.max() <= 1):
        return True
    return bool(_spans(values).min() >= np.ptp(finite) / 20)


def _spans(values: Matrix) -> Vector:
    """Return the distance from lowest to highest finite value: (n_outputs,); 0 without any."""
    high = np.where(np.isfinite(values), values, -np.inf).max(axis=0)
    low = np.where(np.isfinite(values), values, np.inf).min(axis=0)
    return np.where(high >= low, high - low, 0.0)


def _values(
    curves: Sequence[PartialDependenceCurve], columns: Sequence[int] | None = None
) -> Matrix:
    """Return what can be drawn of all points of curves: (n_points, n_outputs)."""
    values = drawable(np.concatenate([curve.values for curve in curves]))
    return values if columns is None else values[:, columns]


def _left_out(
    requested: list[PartialDependenceCurve], shown: list[PartialDependenceCurve], columns: list[int]
) -> Iterator[str]:
    output_count = requested[0].values.shape[1]
    if len(shown) < len(requested):
        yield f"{len(shown)} largest of {len(requested)} groups"
    if len(columns) < output_count:
        yield f"{len(columns)} of {output_count} outputs, those that move most"
    values = _values(shown, columns)
    broken = int((~np.isfinite(values)).sum())
    if broken:
        yield f"{NOT_SHOWN}: {broken} of {values.size} values"
