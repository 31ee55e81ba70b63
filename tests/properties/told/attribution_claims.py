"""Claims of sentences on attributions: the reasons of rows, and the largest mean sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.elements.labels import clean, shorten
from onnxplain_server.report import summary
from told.written import Match, for_output, is_written, joined, number, rounding, with_value

BESIDE_SHUFFLING = (
    r"(?P<kind>\w+) values tell how far a feature moves predictions, right or wrong, and shuffling "
    r"how much worse these get without it: (?:both name (?P<names>.+) first|(?P<first>.+) has the "
    r"largest, and shuffling (?P<harmful>.+) worsens them most)\."
)


def reasons(found: Match, explanation: Explanation) -> bool:
    """Check prediction, average and their difference, and the largest values of a row."""
    result = explanation.attributions
    outputs = list(result.output_names)
    if not outputs:
        return False
    count = _row_count(result)
    rows = [f"Row {row:,}" for row in result.row_indices]
    if not rows:
        rows = [f"Given row {row:,}" for row in range(count)] if count > 1 else ["The given row"]
    if found["row"] not in rows:
        return False
    row, shape = rows.index(found["row"]), (count, -1, len(outputs))
    values = np.array(result.values).reshape(shape)[row]
    told = []
    for k in for_output(found, outputs):
        ends = np.array([result.base_values[k], result.predictions[row * len(outputs) + k]])
        moved = ends[1] - ends[0]
        side = "above" if moved > 0 else "below"
        near = rounding(ends)
        is_same = "no different from" in found[0]
        told.append(
            abs(number(found["b"]) - ends[0]) <= near
            and abs(number(found["a"]) - ends[1]) <= near
            and (abs(moved) <= near if is_same else abs(number(found["d"]) - abs(moved)) <= near)
            and (is_same or found["side"] == side)
            and np.abs(values).sum(axis=0).argmax() == k
            and _are_largest(found["reasons"], result, row, k)
        )
    is_banzhaf = explanation.options.attributions.value == 2
    has_kind = found["reasons"] is None or ("largest Banzhaf values" in found[0]) == is_banzhaf
    return any(told) and has_kind


def _row_count(result) -> int:
    return len(result.predictions) // len(result.output_names)


def _are_largest(text: str | None, result, row: int, column: int) -> bool:
    """Tell whether a text enumerates the largest values of a row, beyond their errors."""
    shape = (_row_count(result), len(result.features), len(result.output_names))
    values = np.array(result.values).reshape(shape)[row, :, column]
    errors = np.array(result.standard_errors).reshape(-1, *shape[1:])[row : row + 1, :, column]
    beyond = 2 * errors[0] if len(errors) else np.zeros_like(values)
    order = np.argsort(-np.abs(values), kind="stable")[:3]
    least = np.maximum(0.1 * np.abs(values).max(), beyond)
    shown = [p for p in order if abs(values[p]) > least[p]]
    if not shown or text is None:
        return not shown and text is None
    own = {column.name: column for column in result.feature_values}
    for place, p in enumerate(shown):
        sign = "" if place == 0 else " and " if place == len(shown) - 1 else ", "
        start = _after(text, sign, result.features[p].names, own, row)
        ending = re.match(r" \((\+?)([^)]*)\)", start or "")
        if start is None or ending is None or not is_written(ending[2], values[p], values):
            return False
        if (ending[1] == "+") != (values[p] > 0):
            return False
        text = start[ending.end() :]
    return not text


def _after(
    text: str, sign: str, names: Sequence[str], own: dict[str, Column], row: int
) -> str | None:
    """Return what follows the features of a reason with their values; None where they differ."""
    if not text.startswith(sign):
        return None
    text = text.removeprefix(sign)
    for k, name in enumerate(names):
        start = f"{' and ' * (k > 0)}{with_value(name)}"
        if not text.startswith(start):
            return None
        text = text.removeprefix(start)
        column = own[name]
        if column.strings:
            value = shorten(clean(column.strings[row]), 28) if column.strings[row] else "missing"
            if not text.startswith(value):
                return None
            text = text.removeprefix(value)
            continue
        told = re.match(r"missing|minus infinite|infinite|−?[\d,.]+(e[+−]\d+)?", text)
        if told is None or not _is_value(told[0], np.array(column.numbers), row):
            return None
        text = text[told.end() :]
    return text


def _is_value(text: str, values: Array, row: int) -> bool:
    if text == "missing":
        return bool(np.isnan(values[row]))
    if "infinite" in text:
        return bool(np.isneginf(values[row]) if "minus" in text else np.isposinf(values[row]))
    finite = values[np.isfinite(values)]
    return bool(abs(number(text) - values[row]) <= rounding(finite))


def sizes(found: Match, explanation: Explanation) -> bool:
    """Check which feature has the largest mean absolute value."""
    result = explanation.attributions
    outputs = list(result.output_names)
    if not outputs:
        return False
    means = np.array(result.mean_absolute_values).reshape(-1, len(outputs))
    player, column = np.unravel_index(int(np.argmax(means)), means.shape)
    kind = "Banzhaf" if explanation.options.attributions.value == 2 else "Shapley"
    return (
        column in for_output(found, outputs)
        and found["names"] == joined(result.features[player].names, " + ")
        and found["kind"] == kind
        and bool(found["estimated"]) == bool(result.standard_errors)
        and _are_rows(found["rows"], explanation, means)
        and is_written(found["a"], means[player, column], means[:, column])
    )


def beside_shuffling(found: Match, answer: ExplainResponse) -> bool:
    """Check which feature has the largest values; another sentence tells what shuffling finds."""
    first = found["names"] or found["first"]
    harmful = found["harmful"] or first
    is_told = any(s.startswith(f"Shuffling {harmful}") for s in summary.of_answer(answer))
    for explanation in answer.explanations:
        result = explanation.attributions
        if explanation.WhichOneof("result") != "attributions":
            continue
        means = np.array(result.mean_absolute_values).reshape(-1, len(result.output_names))
        names = result.features[int(means.max(axis=1).argmax())].names
        kind = "Banzhaf" if explanation.options.attributions.value == 2 else "Shapley"
        if is_told and joined(names, " + ") == first and found["kind"] == kind:
            return (first == harmful) == (found["harmful"] is None)
    return False


def _are_rows(told: str | None, explanation: Explanation, means: Array) -> bool:
    """Tell whether all rows explained count once; a number is told where they do, and only then."""
    result = explanation.attributions
    shape = (_row_count(result), *means.shape)
    plain = np.abs(np.array(result.values).reshape(shape)).mean(axis=0)
    may_weigh_nothing = len(explanation.options.attributions.row_indices) > 0
    if may_weigh_nothing and not np.allclose(plain, means, rtol=1e-9, atol=0):
        return told is None
    return told == f"{_row_count(result):,}"
