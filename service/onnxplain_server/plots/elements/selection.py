"""What of a partial dependence is shown: whole requests, cut to what a picture can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.partial_dependence import PartialDependenceCurve, Result
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.plots.elements.style import MOST_SERIES


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """What one output says about one group of rows, over the points of a grid."""

    output: str
    group: str
    grid: tuple[Array, ...]
    values: Vector


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What was asked for at once: the same features, for all outputs and groups.

    Attributes
    ----------
    features : tuple of str
    outputs, groups : tuple of str
        Those shown; groups are empty where rows are not grouped.
    group_column : str
        May be empty.
    pieces : tuple
    common_scale : bool
        Whether the outputs can share a scale.
    remarks : tuple of str
        What is left out.
    is_stepped : bool
        Whether nothing changes between neighbouring grid points, but at the later one.
    """

    features: tuple[str, ...]
    outputs: tuple[str, ...]
    groups: tuple[str, ...]
    group_column: str
    pieces: tuple[Piece, ...]
    common_scale: bool
    remarks: tuple[str, ...]
    is_stepped: bool


def views(result: Result) -> Iterator[View]:
    """Gather what belongs into one picture."""
    output_names = distinguish(result.output_names)
    for together in _requests(result.curves):
        chosen = _heaviest(together)
        columns = most_moved(np.concatenate([curve.values for curve in chosen]))
        groups = distinguish(curve.group for curve in chosen)
        outputs = tuple(output_names[column] for column in columns)
        yield View(
            features=together[0].features,
            outputs=outputs,
            groups=groups if any(curve.group for curve in together) else (),
            group_column=clean(result.group_column) if result.group_column else "",
            pieces=tuple(
                Piece(output, group, curve.grid, curve.values[:, column])
                for output, column in zip(outputs, columns, strict=True)
                for group, curve in zip(groups, chosen, strict=True)
            ),
            common_scale=comparable(np.concatenate([curve.values for curve in chosen])[:, columns]),
            remarks=tuple(_left_out(together, chosen, columns)),
            is_stepped=together[0].is_stepped,
        )


def _requests(every: Iterable[PartialDependenceCurve]) -> list[list[PartialDependenceCurve]]:
    """Cut the curves where other features begin, or the same are asked for again."""
    requests: list[list[PartialDependenceCurve]] = []
    for curve in every:
        last = requests[-1] if requests else []
        again = any(curve.group == other.group for other in last)
        if not last or again or curve.features != last[0].features:
            requests.append([curve])
        else:
            last.append(curve)
    return requests


def _heaviest(together: list[PartialDependenceCurve]) -> list[PartialDependenceCurve]:
    """Choose the groups with most rows, sorted if they are numbers or intervals."""
    ranked = sorted(range(len(together)), key=lambda place: -together[place].weight)
    chosen = [together[place] for place in sorted(ranked[:MOST_SERIES])]
    return [chosen[place] for place in ascending([curve.group for curve in chosen])]


def ascending(groups: Sequence[str]) -> list[int]:
    """Sort groups if some are numbers or intervals, others behind; give their positions."""
    starts = [_start(group) for group in groups]
    if all(start is None for start in starts):
        return list(range(len(groups)))
    behind = [(start is None, start or 0.0) for start in starts]
    return sorted(range(len(groups)), key=behind.__getitem__)


def _start(group: str) -> float | None:
    """Read the number that a group like "3" or "(3,5]" starts at."""
    found = re.match(r"[\[(]?([-+]?\d+\.?\d*(?:e[-+]?\d+)?)(?:,|$)", group)
    return float(found[1]) if found else None


def most_moved(values: Matrix) -> list[int]:
    """Choose the outputs whose numbers span most, in their order."""
    return sorted(np.argsort(-_spans(values), kind="stable")[:MOST_SERIES].tolist())


def comparable(values: Matrix) -> bool:
    """Tell whether outputs can share a scale: probabilities, or spans of one size.

    What stays within 0 and 1 is taken for a probability. Otherwise each output must fill at least
    a twentieth of the scale, or its curve would be a flat line.
    """
    finite = values[np.isfinite(values)]
    if not finite.size or (finite.min() >= 0 and finite.max() <= 1):
        return True
    return bool(_spans(values).min() >= np.ptp(finite) / 20)


def _spans(values: Matrix) -> Vector:
    """Distance from lowest to highest finite number: (n_outputs,); 0 where there is none."""
    high = np.where(np.isfinite(values), values, -np.inf).max(axis=0)
    low = np.where(np.isfinite(values), values, np.inf).min(axis=0)
    return np.where(high >= low, high - low, 0.0)


def _left_out(
    together: list[PartialDependenceCurve], chosen: list[PartialDependenceCurve], columns: list[int]
) -> Iterator[str]:
    output_count = together[0].values.shape[1]
    if len(chosen) < len(together):
        yield f"{len(chosen)} largest of {len(together)} groups"
    if len(columns) < output_count:
        yield f"{len(columns)} of {output_count} outputs, those that move most"
    shown = np.concatenate([curve.values[:, columns] for curve in chosen])
    broken = int((~np.isfinite(shown)).sum())
    if broken:
        yield f"Not shown, because not finite: {broken} of {shown.size} values"
