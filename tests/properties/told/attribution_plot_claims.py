"""Claims of plots of attributions: ends of lines, values along features, partners, pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from onnxplain.v1.attributions_pb2 import AttributionsResult
from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.elements.labels import clean
from told.written import NUMBER, is_written, joined, number, rounding

_MOST_FEATURES = 12
_LINES = re.compile(rf"From the average of the background, {NUMBER}, upwards to the predictions: ")
_END = re.compile(rf"((?:given )?row [\d,]+) at {NUMBER}")
_ALONG = re.compile(
    r" along (?P<feature>.+?)(?: · .+?)?\. (?:Of the points shown, the value is lowest, "
    rf"{NUMBER} at .+?, and highest, {NUMBER} at .+?|Each point shown has the value {NUMBER})\. "
    r"A point is a row: (?P<shown>[\d,]+) of (?P<all>[\d,]+) rows explained\."
)
_PARTNER = re.compile(
    r" Colour: (?P<name>.+?), with (?P<first>the|one of the \d+) largest mean absolute "
    rf"interactions?(?P<single> of single features)?, {NUMBER}[.;] "
)


def are_true(result: AttributionsResult, name: str, description: str) -> bool:
    """Tell whether one output has the numbers and names that a plot's description has."""
    outputs = range(len(result.output_names))
    if name == "attributions-decision":
        return any(_are_ends(result, output, description) for output in outputs)
    if name.startswith("attributions-dependence") and "…" not in description:
        return any(_is_along(result, output, description) for output in outputs)
    return True


def mean_interactions(result: AttributionsResult) -> dict[str, float]:
    """Return mean absolute interactions by the names of pairs; none for several outputs.

    Nor where features are left out, as their pairs may be stronger than those shown.
    """
    is_cut = len(result.features) > _MOST_FEATURES
    if len(result.output_names) > 1 or is_cut or not result.interactions:
        return {}
    sizes = np.abs(_by_row(result, result.interactions)[:, :, 0]).mean(axis=0)
    players = [joined(player.names, " + ") for player in result.features]
    return {joined(pair): size for pair, size in zip(combinations(players, 2), sizes, strict=True)}


def _by_row(result: AttributionsResult, numbers: Sequence[float]) -> Array:
    count = len(result.predictions) // len(result.output_names)
    return np.array(numbers).reshape(count, -1, len(result.output_names))


def _are_ends(result: AttributionsResult, output: int, description: str) -> bool:
    """Check the average, and the prediction of each row, by its number in the table or in order."""
    ends = _by_row(result, result.predictions)[:, 0, output]
    base = result.base_values[output]
    near = rounding(np.array([base, *ends]))
    told = _LINES.search(description)
    names = [f"row {row:,}" for row in result.row_indices]
    names = names or [f"given row {row}" for row in range(len(ends))]
    predictions = dict(zip(names, ends, strict=True))
    found = dict(_END.findall(description))
    return (
        told is not None
        and abs(number(told[1]) - base) <= near
        and found.keys() == predictions.keys()
        and all(abs(number(text) - predictions[row]) <= near for row, text in found.items())
    )


def _is_along(result: AttributionsResult, output: int, description: str) -> bool:
    """Check the counts of rows, the ends of the values shown, and the partner."""
    found = _ALONG.search(description)
    if found is None:
        return False
    values = _by_row(result, result.values)
    names = [clean(one.names[0]) if len(one.names) == 1 else "" for one in result.features]
    player = names.index(found["feature"])
    own = values[:, player, output]
    low, high = (found[4], found[4]) if found[4] else (found[2], found[3])
    is_all = found["shown"] == found["all"]
    return (
        found["all"] == f"{len(values):,}"
        and _is_end(low, own, own.min() if is_all else None)
        and _is_end(high, own, own.max() if is_all else None)
        and _is_partner(_PARTNER.search(description), result, output, player, names)
    )


def _is_end(text: str, values: Array, end: float | None) -> bool:
    """Tell whether a number is the end of the values; where not all are shown, one of them."""
    return any(is_written(text, value, values) for value in (values if end is None else [end]))


def _is_partner(
    found: re.Match[str] | None,
    result: AttributionsResult,
    output: int,
    player: int,
    names: list[str],
) -> bool:
    """Tell whether no other feature by itself has a larger mean absolute interaction."""
    if found is None:
        return True
    means = np.abs(_by_row(result, result.interactions)[:, :, output]).mean(axis=0)
    pairs = combinations(range(len(names)), 2)
    sizes = {
        names[j if i == player else i]: size
        for (i, j), size in zip(pairs, means, strict=True)
        if player in {i, j}
    }
    sizes.pop("", None)
    largest = max(sizes.values())
    return (
        sizes[found["name"]] >= largest * (1 - 1e-9)
        and is_written(found[4], largest, [*sizes.values()])
        and bool(found["single"]) == ("" in names)
    )
