"""Exact engine for outputs that add sums over trees and linear functions of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.games import Attributed, Game
from onnxplain_server.effects.attributing.mixed_rows import RowMixture, not_finite_mixed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Group, Joint, Single
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.effects.row_predictions import check_finite, not_finite, not_finite_at
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.reading.linear.part import LinearPart
from onnxplain_server.trees.replicates import ReplicateEngines


class ExactWithLinear:
    """Implements `Effects` by the effects of the trees, and what each feature adds to them.

    With g_j(x_j) the linear part of feature j, and means over the rows,

        F_S(x) = F_S of the trees + Σ of g_j(x_j) over j in S + Σ of mean g_j over all other j

    So the linear part has no share in the pure effects of several features.

    Parameters
    ----------
    trees : Exact
    linear : LinearPart
        Of the outputs explained.
    """

    def __init__(self, trees: Exact, linear: LinearPart) -> None:
        self._trees = trees
        self._linear = linear
        self._replicates: ReplicateEngines | None = None

    @property
    def background(self) -> Background:
        return self._trees.background

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._trees.output_names

    @property
    def categories(self) -> frozenset[int]:
        return self._trees.categories

    def breakpoints(self, feature: int) -> Vector | None:
        return None if feature in self._linear.features else self._trees.breakpoints(feature)

    def restrict(self, background: Background) -> ExactWithLinear:
        return ExactWithLinear(self._trees.restrict(background), self._linear)

    def for_joint(self, order: int) -> ExactWithLinear:  # noqa: ARG002 - time grows with the rows
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        return self._trees.cost(features, n_points)

    def pair_allowance(self) -> float:
        return self._trees.pair_allowance()

    def release(self, rows: int) -> None:
        self._trees.release(rows)

    def batches(self, weights: Array) -> Iterator[Array]:
        return self._trees.batches(weights)

    def batch_count(self, replicate_count: int) -> int:
        return self._trees.batch_count(replicate_count)

    def cached(
        self, identity: bytes, shape: tuple[int, int], rows: int, compute: Callable[[], Matrix]
    ) -> Matrix:
        return self._trees.cached(identity, shape, rows, compute)

    def rounding_error(self) -> Vector:
        size = self._linear.size(self.background.columns)
        bound: Vector = self._trees.rounding_error() + AVERAGING * size
        return bound

    def outputs(self) -> Matrix:
        return self._trees.outputs() + self._unmoved(())

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        if weights is not None:
            yield from self._with_weights(weights).single(features)
            return
        for single in self._trees.single(features):
            moved = [single.feature]
            others = self._unmoved(moved) + self._means[moved].sum(axis=0)
            yield replace(
                single, own=single.own + self._average(moved), others=single.others + others
            )

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        if weights is not None:
            yield from self._with_weights(weights).own_and_others(groups)
            return
        for group, effects in zip(groups, self._trees.own_and_others(groups), strict=True):
            moved = list(group)
            others = self._unmoved(moved) + self._means[moved].sum(axis=0)
            yield effects[0] + self._average(moved), effects[1] + others

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        if weights is not None:
            yield from self._with_weights(weights).wholes(groups)
            return
        for group, whole in zip(groups, self._trees.wholes(groups), strict=True):
            yield whole + self._average(group)

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        if weights is not None:
            yield from self._with_weights(weights).joint(groups)
            return
        for joint in self._trees.joint(groups):
            yield replace(joint, whole=joint.whole + self._average(joint.features))

    def _with_weights(self, weights: Matrix) -> ReplicateEngines:
        """Return the engines for weights; those of the last call are memoized."""
        if self._replicates is None or self._replicates.weights is not weights:
            self._replicates = ReplicateEngines(self, weights)
        return self._replicates

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        return next(self.curves([(features, points)]))

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        for curve, asked in zip(self._trees.curves(requests), requests, strict=True):
            yield curve + self._at_points(*asked) + self._means_without(asked[0])

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        added = self._at_points(features, points) + self._unmoved(features)[:, np.newaxis]
        return self._trees.individual(features, points) + added

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        moved, unmoved = self._sum(map(self._at_rows, features)), self._unmoved(features)
        predicted = zip(self._trees.permuted(features, permutations), permutations, strict=True)
        return [trees + moved[rows] + unmoved for trees, rows in predicted]

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        added = np.zeros((len(mixture.own), len(self.output_names)))
        for j, part in self._parts.items():
            own = self._linear.at(j, explained.columns[j])[mixture.own]
            added += np.where(mixture.is_own[:, j, None], own, part[mixture.others])
        check_finite(added, lambda rows: not_finite_mixed(explained, mixture, rows))
        return self._trees.mixed(explained, mixture) + added

    def exact_attributions(self) -> ExactWithLinear:
        return self

    @property
    def has_paths(self) -> bool:
        return True

    def attribute(
        self, explained: Background, players: Sequence[tuple[int, ...]], game: Game
    ) -> Attributed:
        """Implement `ExactAttributions`: linear parts are no part of what features do together."""
        attributed = self._trees.attribute(explained, players, game)
        values = attributed.values.copy()
        for number, features in enumerate(players):
            for j in self._parts.keys() & set(features):
                own = self._linear.at(j, explained.columns[j])
                check_finite(own, lambda rows: not_finite(explained, rows))
                values[:, number] += own - self._means[j]
        return replace(attributed, values=values)

    def _average(self, moved: Sequence[int]) -> Matrix:
        """Add up the parts of features at the rows, and the means of all others: (n, n_outputs)."""
        return self._sum(map(self._at_rows, moved)) + self._means_without(moved)

    def _means_without(self, moved: Sequence[int]) -> Vector:
        """Add up the means of all features but some: (n_outputs,)."""
        without: Vector = np.delete(self._means, moved, axis=0).sum(axis=0)
        return without

    def _unmoved(self, moved: Sequence[int]) -> Matrix:
        """Add up the parts of all features but some, at the rows: (n, n_outputs)."""
        return self._sum(part for j, part in self._parts.items() if j not in moved)

    def _at_rows(self, feature: int) -> Matrix:
        """Return the part of a feature at the rows: (n, n_outputs)."""
        return self._sum(part for j, part in self._parts.items() if j == feature)

    def _sum(self, parts: Iterable[Matrix]) -> Matrix:
        total = np.zeros((len(self.background), len(self.output_names)))
        for part in parts:
            total += part
        return total

    def _at_points(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """Add up the parts of features at points: (n_points, n_outputs)."""
        added = np.zeros((len(points[0]), len(self.output_names)))
        for j, values in zip(features, points, strict=True):
            added += self._linear.at(j, values)
        names = self.background.features.names
        return check_finite(added, lambda found: not_finite_at(names, features, points, found[0]))

    @cached_property
    def _parts(self) -> dict[int, Matrix]:
        """Parts of the features that have one, at the rows: (n, n_outputs) each."""
        columns = self.background.columns
        parts = {j: self._linear.at(j, columns[j]) for j in self._linear.features}
        check_finite(self._sum(parts.values()), lambda rows: not_finite(self.background, rows))
        return parts

    @cached_property
    def _means(self) -> Matrix:
        """Mean part of each feature over the rows: (n_features, n_outputs)."""
        weights = self.background.weights
        means = np.zeros((len(self.background.columns), len(self.output_names)))
        for j, part in self._parts.items():
            means[j] = weights @ part / weights.sum()
        return means
