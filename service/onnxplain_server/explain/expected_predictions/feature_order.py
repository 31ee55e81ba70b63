"""Cause: features in another order, found by changes that bring the predictions nearer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import listed
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause
from onnxplain_server.explain.expected_predictions.differences import sizes_of
from onnxplain_server.explain.expected_predictions.trial import PREDICTED_ROWS, CauseTrial

_FEWEST_ROWS = 6
_MOST_ROWS = 30
_RANDOM_STARTS = 8
_FARTHEST = 1e12
_ROW_BUDGET = 22_000
"""Rows that the search may predict, beside those of the trial with each order found."""
_CELLS = 5_000_000
"""Values of the rows that are predicted at a time."""
_SHOWN = 30

Order = tuple[int, ...]
"""Position of the column that each feature takes."""


def feature_order(trial: CauseTrial) -> LikelyCause | None:
    """Find an order of the columns by which the model predicts what is expected."""
    if len(trial.columns) < 2 or not trial.varies.any():
        return None
    search = _Search(trial)
    for start in _starts(trial.features.names):
        order = search.from_start(start)
        agreeing = trial.agreeing(trial.predict(_taken(trial.columns, order))[:, trial.outputs])
        message = _message(trial.features, order)
        if cause := trial.cause(CauseKind.FEATURE_ORDER, agreeing, message):
            return cause
    return None


def _message(features: Features, order: Order) -> str:
    names = features.names
    begin = "The model was trained on another order of the features: it predicts as expected"
    if features.matrix:
        ordered = listed(tuple(names[column] for column in order), _SHOWN)
        return f"{begin} from the columns {ordered}. Name them in this order in feature_columns."
    moved = tuple(
        f"{names[column]!r} in the place of {names[feature]!r}"
        for feature, column in enumerate(order)
        if feature != column
    )
    more = f" and {len(moved) - _SHOWN} more" if len(moved) > _SHOWN else ""
    return f"{begin} with {', '.join(moved[:_SHOWN])}{more}. Name its inputs in this order."


def _starts(names: Sequence[str]) -> Iterator[Order]:
    """Yield orders to begin with: as given, by name, from that, reversed, and some at random."""
    count = len(names)
    by_name = tuple(sorted(range(count), key=lambda j: names[j]))
    yield tuple(range(count))
    yield by_name
    yield tuple(sorted(range(count), key=lambda j: by_name[j]))
    yield tuple(reversed(range(count)))
    generator = np.random.default_rng(0)
    for _ in range(_RANDOM_STARTS):
        yield tuple(generator.permutation(count).tolist())


def _taken(columns: Sequence[Array], order: Order) -> list[Array]:
    """Give each feature the column in its place."""
    return [columns[k] for k in order]


class _Search:
    """Swaps of two features, and moves of one, the best first, until none brings nearer."""

    def __init__(self, trial: CauseTrial) -> None:
        self._trial = trial
        types = [column.dtype.str for column in trial.columns]
        self._types = np.unique(types, return_inverse=True)[1]
        self._left = _ROW_BUDGET
        self._changes = _changes(len(trial.columns))
        count = max(PREDICTED_ROWS // (3 * len(self._changes)), _FEWEST_ROWS)
        self._row_count = min(count, _MOST_ROWS, len(trial.differs))

    def _fits(self, order: Order) -> bool:
        """Return whether each feature has a column of its own type."""
        return bool(np.array_equal(self._types[list(order)], self._types))

    def from_start(self, order: Order) -> Order:
        """Return the order that changes lead to."""
        if not self._fits(order):
            return tuple(range(len(order)))
        distance = self._distances([order])[0]
        while distance > 0:
            changed = [tuple(order[k] for k in change) for change in self._changes]
            orders = [each for each in changed if self._fits(each)]
            if not orders or len(orders) * self._row_count > self._left:
                break
            distances = self._distances(orders)
            best = int(np.argmin(distances))
            if distances[best] >= distance:
                break
            order, distance = orders[best], distances[best]
        return order

    def _distances(self, orders: Sequence[Order]) -> list[float]:
        """Return how far predictions of the first rows are, with each order: 0 within rounding."""
        trial, row_count = self._trial, self._row_count
        columns = [column[:row_count] for column in trial.columns]
        taken = (_taken(columns, order) for order in orders)
        stacked = [np.concatenate(parts) for parts in zip(*taken, strict=True)]
        self._left -= len(stacked[0])
        predicted = trial.predict(stacked)[:, trial.outputs]
        expected = np.tile(trial.expected[:row_count], (len(orders), 1))
        sizes = sizes_of(predicted, expected)
        spread = np.maximum(trial.rounding, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            multiples = np.minimum(np.where(sizes > trial.rounding, sizes / spread, 0.0), _FARTHEST)
        totals = np.log1p(multiples).reshape(len(orders), -1).sum(axis=1)
        return [float(total) for total in totals]


def _changes(count: int) -> tuple[Order, ...]:
    """Return swaps of any two features and moves of any one; of many, swaps of neighbours."""
    own: Order = tuple(range(count))
    pair_count, move_count = count * (count - 1) // 2, (count - 1) * (count - 2)
    most = min(PREDICTED_ROWS, _CELLS // count) // _FEWEST_ROWS
    if pair_count + move_count > most:
        return tuple(_swapped(own, (j, j + 1)) for j in range(min(count - 1, max(most, 1))))
    swaps = (_swapped(own, pair) for pair in combinations(own, 2))
    moves = (_moved(own, j, k) for j in own for k in own if abs(j - k) > 1)
    return (*swaps, *moves)


def _swapped(order: Order, pair: tuple[int, int]) -> Order:
    changed = list(order)
    j, k = pair
    changed[j], changed[k] = changed[k], changed[j]
    return tuple(changed)


def _moved(order: Order, source: int, place: int) -> Order:
    changed = list(order)
    changed.insert(place, changed.pop(source))
    return tuple(changed)
