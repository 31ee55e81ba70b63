"""Effects of any model, by predicting hybrid rows, each at most once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from onnxplain_server.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.background import (
    Background,
    combine,
    distinct,
    fingerprint,
    gather,
)
from onnxplain_server.effects.caller import Caller, check_finite, rows_named
from onnxplain_server.effects.effects import Joint, Single
from onnxplain_server.effects.shelf import Label, Shelf
from onnxplain_server.effects.sweep import Averages, Shares, Sweeper

_BLOCK_ROWS = 16_000
"""Rows of curves that are predicted together, so that memory does not grow with them."""

_FEW_LEVELS = 20
"""Up to here it pays to skip rows that have a grid value already: 1 in so many."""


class BlackBox:
    """The engine for models of which nothing is known but their predictions.

    Parameters
    ----------
    caller : Caller
    background : Background
    scale : str
        Which of the model's predictions are explained.

    Notes
    -----
    Cost, n rows and u distinct values of a feature (or combinations of values):
    n for `outputs`, u · n for both parts of `single` together, u · n for each
    group of `joint`, and n for each point of `curve`. Less where rows differ in
    the moved features only, and where a row has a grid value already.
    """

    def __init__(self, caller: Caller, background: Background, scale: str) -> None:
        self._caller = caller
        self._background = background
        self._scale = scale
        self._shelf = Shelf(caller.ledger, f"{scale}\n{background.digest}", caller.output_keys)
        self._sweeper = Sweeper(caller, background)
        self._predictions: Matrix | None = None
        self._effects: dict[tuple[int, ...], Matrix] = {}

    @property
    def background(self) -> Background:
        """See `Effects.background`."""
        return self._background

    @property
    def output_names(self) -> tuple[str, ...]:
        """See `Effects.output_names`."""
        return self._caller.output_names

    def restrict(self, background: Background) -> BlackBox:
        """See `Effects.restrict`."""
        return BlackBox(self._caller, background, self._scale)

    def for_joint(self) -> BlackBox:
        """See `Effects.for_joint`."""
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        """See `Effects.cost`; without `n_points`, at the rows' own values."""
        n = len(self._background)
        if n_points is None:
            n_points = min(n, math.prod(len(self._background.levels[j]) for j in features))
        return n_points * n

    def settle(self, rows: int) -> None:
        """See `Effects.settle`."""
        self._caller.ledger.settle(rows)

    def outputs(self) -> Matrix:
        """See `Effects.outputs`."""
        if self._predictions is None:
            self._predictions = self._recall_or_predict()
        return self._predictions

    def _recall_or_predict(self) -> Matrix:
        background, label = self._background, Label("outputs", len(self._background))
        found = self._shelf.find([label])[0]
        if found is not None:
            self._caller.ledger.spend(len(background), 0)
            return found
        predicted = self._caller.predict_rows(background.features, background.columns)
        check_finite(
            predicted,
            lambda rows: (
                f"the model's prediction is not finite for {rows_named(background, rows)}; "
                "remove or mend these rows"
            ),
        )
        self._shelf.keep(label, predicted)
        return predicted

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        """See `Effects.single`."""
        if weights is not None:
            yield from self._single_replicates(features, weights)
            return
        levels, n = self._background.levels, len(self._background)
        own = [self._curve_label((j,), (levels[j],)) for j in features]
        others = [Label(f"others {j}", n) for j in features]
        found = self._shelf.find([*own, *others])
        for i, j in enumerate(features):
            points, rows = found[i], found[len(features) + i]
            if points is None or rows is None:
                averages = self._sweep_levels(j, self._background.weights)
                points, rows = averages.points, averages.rows
                self._shelf.keep(own[i], points)
                self._shelf.keep(others[i], rows)
            else:
                self._caller.ledger.spend(self.cost((j,)), 0)
            self._effects[j,] = points[self._background.codes[j]]
            yield Single(j, self._effects[j,], rows)

    def _single_replicates(self, features: Sequence[int], weights: Matrix) -> Iterator[Single]:
        for j in features:
            averages = self._sweep_levels(j, weights)
            self._effects[j,] = averages.points[:, self._background.codes[j]]
            yield Single(j, self._effects[j,], averages.rows)

    def _sweep_levels(self, feature: int, weights: Array) -> Averages:
        """Move a feature over its own values, skipping the predictions that are known."""
        levels, n = self._background.levels[feature], len(self._background)
        merged, _ = self._background.apart_from([feature])
        row_shares = weights / weights.sum(axis=-1, keepdims=True)
        shares = Shares(gather(row_shares, self._background.codes[feature]), row_shares)
        if len(levels) <= _FEW_LEVELS and len(merged) * len(levels) >= n * (len(levels) - 1):
            averages = self._sweeper.sweep_levels(feature, self.outputs(), shares)
        else:
            averages = self._sweep((feature,), (levels,), shares)
        self._check_points(averages.points, (feature,), (levels,))
        return averages

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        """See `Effects.joint`."""
        codes, columns = self._background.codes, self._background.columns
        combined = [combine([codes[j] for j in group]) for group in groups]
        grids = [
            tuple(columns[j][first] for j in group)
            for group, (first, _) in zip(groups, combined, strict=True)
        ]
        labels = [self._curve_label(g, grid) for g, grid in zip(groups, grids, strict=True)]
        found = self._shelf.find(labels) if weights is None else [None] * len(labels)
        for group, grid, label, (_, inverse), known in zip(
            groups, grids, labels, combined, found, strict=True
        ):
            self.settle(self.cost(group) - self.cost(group, len(grid[0])))
            points = (
                self._points(group, grid, label, known)
                if weights is None
                else self._sweep_points(group, grid, weights)
            )
            self._effects[group] = points[..., inverse, :]
            yield Joint(group, self._effects[group], self._pure(group))

    def _pure(self, group: tuple[int, ...]) -> Array:
        """Take from an effect what fewer of its features do, by inclusion and exclusion."""
        pure = self._effects[group].copy()
        for size in range(1, len(group)):
            sign = (-1) ** (len(group) - size)
            for part in combinations(group, size):
                pure += sign * self._effects[part]
        return pure

    def batches(self, weights: Array) -> Iterator[Array]:
        """See `Effects.batches`: all at once, since predictions are the cost."""
        yield weights

    def batch_count(self, _replicate_count: int) -> int:
        """See `Effects.batch_count`."""
        return 1

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """See `Effects.curve`."""
        first, inverse = combine([distinct(values)[1] for values in points])
        grid, group = tuple(values[first] for values in points), tuple(features)
        label = self._curve_label(group, grid)
        found = self._shelf.find([label])[0]
        self.settle((len(points[0]) - len(first)) * len(self._background))
        return self._points(group, grid, label, found)[inverse]

    def individual(self, feature: int, points: Array) -> Cube:
        """See `Effects.individual`."""
        n, n_points = len(self._background), len(points)
        digest = hashlib.sha256(fingerprint(points)).hexdigest()
        label = Label(f"individual {feature} {digest}", n * n_points)
        found = self._shelf.find([label])[0]
        if found is None:
            found = self._predict_individual(feature, points)
            self._shelf.keep(label, found)
        else:
            self._caller.ledger.spend(n * n_points, 0)
        return found.reshape(n, n_points, found.shape[1])

    def _predict_individual(self, feature: int, points: Array) -> Matrix:
        """Predict each row at each point: (n_rows · n_points, n_outputs)."""
        n, n_points = len(self._background), len(points)
        length = max(1, _BLOCK_ROWS // n_points)
        spans = [slice(start, min(start + length, n)) for start in range(0, n, length)]

        def block(span: slice) -> Matrix:
            columns = [np.repeat(column[span], n_points) for column in self._background.columns]
            columns[feature] = np.tile(points, len(columns[feature]) // n_points)
            return self._caller.predict_rows(self._background.features, columns)

        predicted = np.concatenate(self._caller.side_by_side(block, spans))
        sums = predicted.reshape(n, n_points, -1).sum(axis=0)
        self._check_points(sums, (feature,), (points,))
        return predicted

    def exchanged(self, features: Sequence[int], orders: Sequence[Indices]) -> list[Matrix]:
        """See `Effects.exchanged`."""

        def predict(order: Indices) -> Matrix:
            columns = list(self._background.columns)
            for j in features:
                columns[j] = columns[j][order]
            predicted = self._caller.predict_rows(self._background.features, columns)
            return check_finite(
                predicted, lambda _rows: "the model's prediction is not finite for shuffled rows"
            )

        return self._caller.side_by_side(predict, orders)

    def cached(
        self, question: bytes, shape: tuple[int, int], rows: int, compute: Callable[[], Matrix]
    ) -> Matrix:
        """See `Effects.cached`."""
        outputs = ",".join(self._caller.output_keys)
        identity = f"{self._scale}\n{self._background.digest}\n{outputs}"
        shelf = Shelf(self._caller.ledger, identity, [""])
        label = Label(hashlib.sha256(question).hexdigest(), math.prod(shape))
        found = shelf.find([label])[0]
        if found is not None:
            self._caller.ledger.spend(rows, 0)
            return found.reshape(shape)
        computed = compute()
        shelf.keep(label, computed.reshape(-1, 1))
        return computed

    def _points(
        self, features: tuple[int, ...], grid: tuple[Array, ...], label: Label, found: Matrix | None
    ) -> Matrix:
        """Return partial dependence at distinct grid points: what was found, or a new sweep."""
        if found is not None:
            self._caller.ledger.spend(len(grid[0]) * len(self._background), 0)
            return found
        points = self._sweep_points(features, grid, self._background.weights)
        self._shelf.keep(label, points)
        return points

    def _sweep_points(
        self, features: tuple[int, ...], grid: tuple[Array, ...], weights: Array
    ) -> Array:
        """Return partial dependence at distinct grid points."""
        row_shares = weights / weights.sum(axis=-1, keepdims=True)
        # The average over points is not wanted.
        nothing = np.zeros((*weights.shape[:-1], len(grid[0])))
        points = self._sweep(features, grid, Shares(nothing, row_shares)).points
        self._check_points(points, features, grid)
        return points

    def _sweep(
        self, features: tuple[int, ...], grid: tuple[Array, ...], shares: Shares
    ) -> Averages:
        """Sweep over a grid, with rows merged that differ in these features only."""
        merged, inverse = self._background.apart_from(features)
        sweeper = self._sweeper if merged is self._background else Sweeper(self._caller, merged)
        averages = sweeper.sweep(
            features, grid, Shares(shares.points, gather(shares.rows, inverse))
        )
        self._caller.ledger.spend(len(grid[0]) * (len(self._background) - len(merged)), 0)
        return Averages(averages.points, averages.rows[..., inverse, :])

    def _curve_label(self, features: tuple[int, ...], grid: tuple[Array, ...]) -> Label:
        points = hashlib.sha256(b"".join(fingerprint(values) for values in grid)).hexdigest()
        return Label(f"curve {features} {points}", len(grid[0]))

    def _check_points(
        self, averages: Array, features: tuple[int, ...], grid: tuple[Array, ...]
    ) -> None:
        names = self._background.features.names

        def describe(wrong: Indices) -> str:
            where = " and ".join(
                f"{names[j]} = {v[wrong[0]]}" for j, v in zip(features, grid, strict=True)
            )
            return (
                f"the model's prediction is not finite for some rows when {where}; "
                "restrict the grid, or mend the model"
            )

        by_point = np.moveaxis(averages, -2, 0).reshape(len(grid[0]), -1)
        check_finite(by_point, describe)
