"""Numbers of an answer beside brute force: the model by onnxruntime, averages by NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnxruntime
from odd.questions import Question
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation, PredictResponse
from onnxplain.v1.firm_pb2 import FirmOptions

Array = np.ndarray[Any, Any]
_MOST_SQUARED = 32
"""Rows of a table of which all pairs are predicted."""
_LARGE = 1e140
"""Predictions whose squares, or those of their sums, may not be told by float64."""


class Oracle:
    """What a model predicts, and how much rows weigh.

    Attributes
    ----------
    rows : (n_used,)
        Rows of weight above 0.
    weights : (n_used,)
        At most 1.
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.session = onnxruntime.InferenceSession(question.body.content, _quiet())
        self.dtype = np.float32 if question.body.type == "float" else np.float64
        self.columns = [self.cast(question.columns[n].truth) for n in question.body.features]
        weights = np.ones(question.row_count)
        if "weight" in question.columns:
            weights = question.columns["weight"].truth
        with np.errstate(under="ignore", invalid="ignore", divide="ignore"):
            weights = weights / weights.max()
        self.rows = np.flatnonzero(weights > 0)
        self.weights = weights[self.rows]

    def cast(self, values: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return values if values.dtype == object else values.astype(self.dtype)

    def predict(self, columns: Sequence[Array]) -> Array:
        """Predict rows, all outputs side by side: (n_rows, n_outputs)."""
        if self.question.body.is_matrix:
            feeds = {"X": np.stack(columns, axis=1)}
        else:
            names = self.question.body.features
            feeds = {name: c[:, None] for name, c in zip(names, columns, strict=True)}
        outputs = self.session.run(None, feeds)
        return np.concatenate([np.asarray(o, np.float64) for o in outputs], axis=1)

    def with_point(self, rows: Array, point: dict[str, Any]) -> Array:
        """Predict rows in which some features have other values."""
        columns = []
        for name, own in zip(self.question.body.features, self.columns, strict=True):
            if name in point:
                kind = object if own.dtype == object else float
                columns.append(np.repeat(self.cast(np.array([point[name]], kind)), len(rows)))
            else:
                columns.append(own[rows])
        return self.predict(columns)

    def mixed(self, places: Sequence[int]) -> Array:
        """Predict all pairs of rows, some features of the one: (n_used, n_used, n_outputs).

        The first axis is the row that these features are of.
        """
        count = len(self.rows)
        one, other = np.repeat(self.rows, count), np.tile(self.rows, count)
        columns = [c[one if j in places else other] for j, c in enumerate(self.columns)]
        return self.predict(columns).reshape(count, count, -1)

    def mean(self, values: Array) -> Array:
        """Average over the last rows: (..., n_used, n_outputs) to (..., n_outputs)."""
        shares = self.weights / self.weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            averaged: Array = np.einsum("r,...ro->...o", shares, values)
        return averaged


def _quiet() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def faults_of_predictions(question: Question, answer: PredictResponse) -> list[str]:
    """Compare predictions, of all rows."""
    oracle = Oracle(question)
    own = oracle.predict(oracle.columns)[list(answer.row_indices)]
    got = np.array(answer.values).reshape(len(answer.row_indices), -1)
    return _differ("predictions", got, own[:, : got.shape[1]], own)


def faults_of_numbers(question: Question, answer: ExplainResponse) -> Iterator[str]:
    """Compare all that brute force can tell."""
    oracle = Oracle(question)
    checks = {
        "partial_dependence": _curves,
        "individual_conditional_expectation": _single_rows,
        "average_loss": _losses,
        "permutation_importance": _permuted,
        "interactions": _interactions,
        "firm": _firm,
    }
    for explanation in answer.explanations:
        method = explanation.WhichOneof("result") or ""
        used = explanation.rows.used_row_count
        if method in checks and used == len(oracle.rows):
            yield from checks[method](oracle, explanation)


def _differ(name: str, got: Array, own: Array, scale: Array | None = None) -> list[str]:
    """Tell the first number that is another; `scale` holds what it was summed from."""
    if got.shape != own.shape:
        return [f"{name}: {got.shape} numbers for {own.shape}"]
    summed = own if scale is None else scale
    finite = np.abs(summed[np.isfinite(summed)])
    largest = finite.max(initial=0.0)
    # The trees engine adds what cancels out to 0.
    wrong = ~np.isclose(got, own, rtol=1e-5, atol=2e-6 * largest + 1e-14, equal_nan=True)
    # Sums at the end of float64 overflow in one order, and not in another.
    wrong &= ~((np.abs(own) > 1e307) | ~np.isfinite(own) & (largest > 1e307))
    if not wrong.any():
        return []
    at = tuple(np.argwhere(wrong)[0].tolist())
    return [f"{name}: {got[at]} for {own[at]} at {at}"]


def _outputs(oracle: Oracle, names: Sequence[str]) -> list[int]:
    """Return the outputs that are explained, by their names."""
    shapes = [o.name for o in oracle.session.get_outputs()]
    width = oracle.predict([c[:1] for c in oracle.columns]).shape[1]
    if len(shapes) == 1:
        known = [shapes[0]] if width == 1 else [f"{shapes[0]}_{k}" for k in range(width)]
    else:
        known = [f"{shapes[0]}[0]", f"{shapes[0]}[1]", f"{shapes[0]}_0"]
    return [known.index(name) for name in names]


def _points(grid: Sequence[Any], count: int) -> list[dict[str, Any]]:
    columns = {c.name: list(c.strings) or list(c.numbers) for c in grid}
    return [{name: own[k] for name, own in columns.items()} for k in range(count)]


def grid_faults(grid: Sequence[Any]) -> Iterator[str]:
    """Tell where the grid of one feature is not strictly increasing and finite, but for missing."""
    if len(grid) != 1:
        return
    numbers, texts = list(grid[0].numbers), list(grid[0].strings)
    if len(set(texts)) < len(texts):
        yield f"the grid of {grid[0].name!r} has a point twice: {texts}"
    known = np.array(numbers[:-1] if numbers and np.isnan(numbers[-1]) else numbers)
    is_finite = np.isfinite(known).all() or not np.isfinite(known).any()
    if not is_finite or (known[1:] <= known[:-1]).any():
        yield f"the grid of {grid[0].name!r} is {known.tolist()}"


def _curves(oracle: Oracle, explanation: Explanation) -> Iterator[str]:
    result = explanation.partial_dependence
    chosen = _outputs(oracle, result.output_names)
    groups = oracle.question.columns.get(explanation.options.partial_dependence.group_column)
    for curve in result.curves:
        yield from grid_faults(curve.grid)
        got = np.array(curve.values).reshape(-1, len(chosen))
        members = np.ones(len(oracle.rows), bool)
        if curve.group:
            found = _members(oracle, groups, curve.group)
            if found is None:
                continue
            members = found
        rows, weights = oracle.rows[members], oracle.weights[members]
        shares = weights / weights.sum()
        points = _points(curve.grid, len(got))
        every = np.array([oracle.with_point(rows, point)[:, chosen] for point in points])
        with np.errstate(over="ignore", invalid="ignore"):
            own = np.einsum("r,pro->po", shares, every)
        yield from _differ(f"curve of {list(curve.features)} {curve.group!r}", got, own, every)


def _members(oracle: Oracle, column: Any, label: str) -> Array | None:
    """Return which rows have the text of a group; None where that is an interval or unclear."""
    if column is None or not column.is_text or label not in set(column.truth.tolist()):
        return None
    return np.array([cell == label for cell in column.truth[oracle.rows]])


def _single_rows(oracle: Oracle, explanation: Explanation) -> Iterator[str]:
    result = explanation.individual_conditional_expectation
    chosen = _outputs(oracle, result.output_names)
    for curves in result.curves:
        yield from grid_faults(curves.grid)
        rows = np.array(curves.row_indices)
        got = np.array(curves.values).reshape(len(rows), -1, len(chosen))
        points = _points(curves.grid, got.shape[1])
        own = np.array([oracle.with_point(rows, point)[:, chosen] for point in points])
        own = own.swapaxes(0, 1)
        if explanation.options.individual_conditional_expectation.centered:
            got, own = got - got[:, :1], own - own[:, :1]
        yield from _differ(f"curves of rows of {curves.feature or list(curves.features)}", got, own)


def _squared(oracle: Oracle, explanation: Explanation, options: Any) -> tuple[Array, Array] | None:
    """Return target and predictions of a squared error of one output; None for other losses."""
    target = oracle.question.columns["target"]
    is_one = len(oracle.session.get_outputs()) == 1 and not explanation.class_pairings
    is_one &= len(options.target_columns) <= 1 and not target.is_text
    own = oracle.predict(oracle.columns)[oracle.rows]
    if not is_one or own.shape[1] != 1 or options.loss != 1 or options.loss_expression:
        return None
    return target.truth.astype(float)[oracle.rows][:, None], own


def _losses(oracle: Oracle, explanation: Explanation) -> Iterator[str]:
    asked = _squared(oracle, explanation, explanation.options.average_loss)
    if asked is None:
        return
    with np.errstate(over="ignore"):
        each = (asked[0] - asked[1]) ** 2
    groups = oracle.question.columns.get(explanation.options.average_loss.group_column)
    for loss in explanation.average_loss.losses:
        members = _members(oracle, groups, loss.group) if loss.group else np.ones(len(each), bool)
        if members is not None:
            own = np.average(each[members], axis=0, weights=oracle.weights[members])
            yield from _differ(f"average loss of {loss.group!r}", np.array(loss.values), own, each)


def _permuted(oracle: Oracle, explanation: Explanation) -> Iterator[str]:
    """Compare the loss before shuffling, and the ends of what any shuffling may lead to."""
    result, options = explanation.permutation_importance, explanation.options.permutation_importance
    asked = _squared(oracle, explanation, options)
    if asked is None:
        return
    with np.errstate(over="ignore"):
        each = (asked[0] - asked[1]) ** 2
    before = oracle.mean(each)
    yield from _differ("loss before shuffling", np.array(result.baseline_losses), before, each)
    if len(oracle.rows) > _MOST_SQUARED or options.normalize:
        return
    for importance in result.importances:
        places = [oracle.question.body.features.index(name) for name in importance.features]
        with np.errstate(over="ignore"):
            losses = (asked[0][None] - oracle.mixed(places)) ** 2
        low, high = (oracle.mean(end(axis=0)) for end in (losses.min, losses.max))
        value = np.array(importance.values)
        room = 1e-5 * (high + before) + 1e-300
        if not (np.isfinite(high).all() and np.isfinite(value).all()):
            continue
        if ((value < low - before - room) | (value > high - before + room)).any():
            ends = (low - before, high - before)
            yield f"importance of {list(importance.features)}: {value} beyond {ends}"


def _interactions(oracle: Oracle, explanation: Explanation) -> Iterator[str]:
    result, options = explanation.interactions, explanation.options.interactions
    names = oracle.question.body.features
    is_asked = len(oracle.rows) <= _MOST_SQUARED and not options.quantile_bin_count
    if not is_asked or any(one.numerator_errors for one in result.overall):
        return
    chosen = _outputs(oracle, result.output_names)
    own = oracle.predict(oracle.columns)[oracle.rows][:, chosen]
    if not np.isfinite(own).all() or np.abs(own).max() > _LARGE:
        return
    effects: dict[tuple[int, ...], Array] = {}

    def effect(*places: int) -> Array:
        if places not in effects:
            means = oracle.mean(oracle.mixed(places)[:, :, chosen])
            effects[places] = means - oracle.mean(means)
        return effects[places]

    total, every = own - oracle.mean(own), tuple(range(len(names)))
    squares = oracle.mean(total**2)
    yield from _differ("mean squares", np.array(result.mean_squares), squares, own**2)
    for one in result.importance:
        place = names.index(one.features[0])
        others = tuple(j for j in every if j != place)
        term = total - (effect(*others) if others else 0.0)
        yield from _differ(f"importance of {one.features[0]!r}", np.array(one.numerators),
                           oracle.mean(term**2), own**2)  # fmt: skip
    for one in result.pairwise:
        if list(one.denominators) == [1.0] * len(chosen) and not any(one.numerators):
            continue  # not measured, as one of its features has no interaction in these rows
        j, k = (names.index(name) for name in one.features)
        term = effect(*sorted((j, k))) - effect(j) - effect(k)
        yield from _differ(f"pair {list(one.features)}", np.array(one.numerators),
                           oracle.mean(term**2), own**2)  # fmt: skip


def _firm(oracle: Oracle, explanation: Explanation) -> Iterator[str]:
    """Compare expected scores given each value, where a bin holds one."""
    result, options = explanation.firm, explanation.options.firm
    if options.source not in {0, 1} or result.sequences.kmers:
        return
    chosen = _outputs(oracle, result.output_names)
    own = oracle.predict(oracle.columns)[oracle.rows][:, chosen]
    for importance in result.importances:
        is_exact = importance.estimator in {FirmOptions.TWO_VALUED, FirmOptions.BINNED}
        column = oracle.question.columns.get(importance.feature) if is_exact else None
        levels: list[Any] = [*(importance.curve.texts or importance.curve.numbers)]
        if column is None or column.kind == "date" or not np.isfinite(own).all():
            continue
        keys = [*map(_key, column.truth[oracle.rows].tolist())]
        if {*map(_key, levels)} | {None} != {*keys} | {None}:
            continue
        got = np.array(importance.curve.expected_scores).reshape(len(levels), -1)
        for level, scores in zip(levels, got, strict=True):
            members = np.array([key == _key(level) for key in keys])
            mean = np.average(own[members], axis=0, weights=oracle.weights[members])
            told = f"expected score of {importance.feature!r} at {level!r}"
            yield from _differ(told, scores, mean, own)


def _key(cell: Any) -> Any:
    """Return a cell, None for one that is missing."""
    return None if cell == "" or (isinstance(cell, float) and math.isnan(cell)) else cell


def constant_features(question: Question, rows: Array) -> set[str]:
    """Return the features with one value in all rows used."""
    truths = {name: question.columns[name].truth[rows] for name in question.body.features}
    return {name for name, truth in truths.items() if len({*map(_key, truth.tolist())}) == 1}
