"""Linked trees engine: effects on outputs that are made of a link function of sums over trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.core.row_draws import draw
from onnxplain_server.effects.background import Background, combine
from onnxplain_server.effects.engine import Group, Joint, Single, pure_effect
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.bound import BoundRows, TreeEffects
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import CountedRows, Leaves
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Int32Array
from onnxplain_server.trees.reading.links import LinkedEnsemble, LinkFunction, LinkScale
from onnxplain_server.trees.replicates import ReplicateEngines

_PAIR_ROWS = 200_000
"""Most rows times pairs, where a request does not say which pairs."""

_MAX_HYBRID_ROWS = 16_384
"""Hybrid rows per pass over the trees, which bounds memory."""


class JointRows(NamedTuple):
    """Most rows for joint effects.

    Attributes
    ----------
    pairs, larger : int
        For pairs, and for larger groups of features.
    """

    pairs: int
    larger: int


class Linked(TreeEffects):
    """Implements `Effects` for outputs that are affine in a link function of sums over trees.

    No row is predicted. A single feature is moved over all its cells at once, exactly and on
    all rows: each row's output is a step function of it (`step_functions`). So are two features
    while the table of their cells fits into memory (`planes`). Otherwise every row descends the
    trees once per combination of cells.

    Parameters
    ----------
    linked : LinkedEnsemble
    background : Background
    output_names : tuple of str
        Names of all outputs of the model.
    outputs : (n_outputs,)
        Positions of the outputs explained. A link needs all scores, so they are selected after.
    ledger : Ledger
    threads : ThreadPoolExecutor
    joint_rows : JointRows
        Most rows for joint effects, whose time grows with the square of the rows.

    Notes
    -----
    Cost: for a single feature, time grows with rows times cells plus rows times trees; for
    two, with rows times the product of their cells plus rows times trees; for more, with rows
    times combinations of cells times trees. Progress counts the rows of
    the background once per single feature, and once per point otherwise.
    """

    def __init__(
        self,
        linked: LinkedEnsemble,
        background: Background,
        output_names: tuple[str, ...],
        outputs: Indices,
        ledger: Ledger,
        threads: ThreadPoolExecutor,
        joint_rows: JointRows,
    ) -> None:
        self._linked = linked
        self._joint_rows = joint_rows
        pool = BlockPool(threads, ledger)
        to_outputs = self._to_outputs
        rows = CountedRows(Leaves(linked.ensemble), len(background))
        bound = BoundRows(
            linked.ensemble, background, output_names, outputs, to_outputs, pool, rows
        )
        super().__init__(bound, threads)
        self._effects: dict[tuple[int, ...], Matrix] = {}
        self._replicates: ReplicateEngines | None = None

    def restrict(self, background: Background) -> Linked:
        return Linked(
            self._linked,
            background,
            self._bound.all_names,
            self._outputs,
            self._ledger,
            self._threads,
            self._joint_rows,
        )

    def for_joint(self, order: int) -> Linked:
        limit = self._joint_rows.pairs if order <= 2 else self._joint_rows.larger
        rows = draw(self._bound.background.source, limit, 0)
        if len(rows) == len(self._bound.background):
            return self
        return self.restrict(self._bound.background.take(rows))

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        n = len(self._bound.background)
        if n_points is None:
            n_points = 1 if len(features) == 1 else n
        return n * n_points

    def pair_allowance(self) -> float:
        return _PAIR_ROWS / len(self._bound.background)

    def rounding_error(self) -> Vector:
        errors = AVERAGING * (1 + magnitude(self._ensemble))
        if self._linked.link is LinkFunction.EXPONENTIAL:
            # As steep as it is large.
            errors *= np.abs(self._linked.to_linked(self._bound.sums)).max(axis=0)
        else:
            # No probability is steeper than its score, or than those that it is compared with.
            errors = np.full(len(errors), errors.max())
        if self._linked.combination is None:
            return errors[self._outputs]
        matrix, offset = self._linked.combination
        combined: Vector = np.abs(matrix) @ errors + AVERAGING * np.abs(offset)
        return combined[self._outputs]

    def batches(self, weights: Array) -> Iterator[Array]:
        if weights.ndim == 1:
            yield weights
            return
        yield weights[0]
        for i in range(1, len(weights)):
            yield weights[i : i + 1]

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        if weights is not None:
            yield from self._with_weights(weights).single(features)
            return
        shares = self._bound.ranked.shares
        for j in features:
            points, inverse = np.unique(self._bound.ranked.codes[j], return_inverse=True)
            point_shares = np.bincount(inverse, shares).astype(np.float64)
            means = self._step_functions.means(j, points, point_shares, self._pool)
            self._effects[j,] = self._of_scores(means.own)[inverse]
            self._ledger.spend(len(self._bound.background), 0)
            yield Single(j, self._effects[j,], self._of_scores(means.others))

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        if weights is not None:
            yield from self._with_weights(weights).own_and_others(groups)
            return
        for group in groups:
            self._ledger.spend(self.cost(group), 0)
            yield self._average_both(group)

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        if weights is not None:
            yield from self._with_weights(weights).wholes(groups)
            return
        for group in groups:
            self._ledger.spend(self.cost(group), 0)
            yield self._at_rows(group)

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        if weights is not None:
            yield from self._with_weights(weights).joint(groups)
            return
        for group in groups:
            whole = self._at_rows(group)
            self._ledger.spend(self.cost(group), 0)
            yield Joint(group, whole, self._pure(group))

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        pairs = zip(features, points, strict=True)
        curve = self._at(features, np.stack([self._ensemble.codes(j, v) for j, v in pairs]))
        self._ledger.spend(len(curve) * len(self._bound.background), 0)
        return curve

    @property
    def _scale(self) -> LinkScale:
        return self._linked.scale

    def _with_weights(self, weights: Matrix) -> ReplicateEngines:
        """Return the engines for weights; those of the last call are memoized."""
        if self._replicates is None or self._replicates.weights is not weights:
            self._replicates = ReplicateEngines(self, weights)
        return self._replicates

    def _at_rows(self, group: tuple[int, ...]) -> Matrix:
        """Compute the effect of a group at the rows' own values: (n, n_outputs)."""
        if group not in self._effects:
            self._effects[group] = self._at(group, self._bound.ranked.codes[list(group)])
        return self._effects[group]

    def _pure(self, group: tuple[int, ...]) -> Matrix:
        """Compute a pure effect, and first those of smaller groups that are not computed yet."""
        for size in range(1, len(group) + 1):
            for part in combinations(group, size):
                self._at_rows(part)
        return pure_effect(group, self._effects)

    def _at(self, features: Sequence[int], cells: Int32Array) -> Matrix:
        """Compute the effect at cells, (n_features, n_points): (n_points, n_outputs)."""
        first, inverse = combine([own.astype(np.intp) for own in cells])
        points = cells[:, first]
        if len(features) == 1 and not self._descend_together():
            no_shares = np.zeros(points.shape[1])
            means = self._step_functions.means(features[0], points[0], no_shares, self._pool)
            return self._of_scores(means.own)[inverse]
        if len(features) <= 2:
            averages = self._planes.means(self._bound.ranked.shares, features, points)
            return self._of_scores(averages)[inverse]
        return self._average_in_parts(features, points)[inverse]

    def _average_in_parts(self, features: Sequence[int], points: Int32Array) -> Matrix:
        """Average predictions of all rows with the features at points, as `_at`."""
        shares = self._bound.ranked.shares
        return np.concatenate([shares @ cube for cube in self._cubes(features, points)])

    def _average_both(self, group: Group) -> tuple[Matrix, Matrix]:
        r"""Compute F_G and F_\G of a group at the rows: (n, n_outputs) each."""
        cells, shares = self._bound.ranked.codes[list(group)], self._bound.ranked.shares
        first, inverse = combine([own.astype(np.intp) for own in cells])
        point_shares = np.bincount(inverse, shares)
        own, others, place = [], np.zeros_like(self.outputs()), 0
        for cube in self._cubes(group, cells[:, first]):
            own.append(shares @ cube)
            others += np.tensordot(point_shares[place : place + len(cube)], cube, (0, 0))
            place += len(cube)
        return np.concatenate(own)[inverse], others

    def _cubes(self, features: Sequence[int], points: Int32Array) -> Iterator[Cube]:
        """Predict all rows with the features at points: (n_points, n, n_outputs), in parts."""
        n = len(self._bound.background)
        step = max(1, _MAX_HYBRID_ROWS // n)
        for start in range(0, points.shape[1], step):
            part = points[:, start : start + step]
            codes = np.tile(self._bound.ranked.codes, part.shape[1])
            codes[list(features)] = np.repeat(part, n, axis=1)
            yield self._bound.predict(codes).reshape(part.shape[1], n, -1)

    def _to_outputs(self, targets: Matrix) -> Matrix:
        """Compute the selected outputs from sums of leaves."""
        return self._of_scores(self._linked.to_linked(targets))

    def _of_scores(self, scores: Array) -> Array:
        return self._linked.combine(scores)[..., self._outputs]
