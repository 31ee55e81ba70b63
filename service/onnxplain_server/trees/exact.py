"""Exact trees engine: effects of sums over trees from leaves and row counts, in linear time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.games import Attributed, Game, Perturbation
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Group, Joint, Single
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.attributing.attributions import LeafAttributions
from onnxplain_server.trees.attributing.failure_counts import CountedBackground
from onnxplain_server.trees.bound import BoundRows, TreeEffects
from onnxplain_server.trees.counting.pure_effects import evaluate_pure
from onnxplain_server.trees.counting.ranked_rows import cells_of
from onnxplain_server.trees.counting.set_effects import SetEffects
from onnxplain_server.trees.counting.strategies import Count, CountedLeaves, CountingStrategy
from onnxplain_server.trees.groups import parts_of
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.leaf_visits import leaf_shares
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.links import IDENTITY, LinkScale
from onnxplain_server.trees.replicates import ReplicateEngines

_BATCH_BYTES = 16 << 20
"""Size of an effect under several weights."""

_PAIR_NUMBERS = 20_000_000
"""Most numbers of the effects of pairs at the rows, where a request does not say which pairs."""

_AHEAD = 16
"""Most groups that are computed, and wait, while the caller uses one."""


class Exact(TreeEffects):
    r"""Implements `Effects` for models whose outputs are affine functions of sums over trees.

    A leaf with value v, the features F on its path and the indicator b_q of its condition on
    each contributes to the effects in closed form. With C[G] the share of rows that meet its
    conditions on G, and with sums over the leaves that have conditions on all of S,

        pure_S(x) = Σ v Σ over A in S of (−1)^|S minus A| C[F minus A] Π over A of b_q(x)
        F_S(x) = mean + Σ of pure_A(x) over all A in S but the empty one

    So pure_S is exactly 0 where no leaf has conditions on all of S.

    Parameters
    ----------
    ensemble : Ensemble
    leaves : Leaves
        Of the ensemble, or of one that differs in `matrix` and `offset` only.
    background : Background
    output_names : tuple of str
        Names of all outputs of the ensemble.
    outputs : (n_outputs,)
        Positions of the outputs explained.
    ledger : Ledger
    threads : ThreadPoolExecutor

    Notes
    -----
    Cost: time grows with rows times leaves. No row is predicted; progress counts the rows
    of the background once per effect and once per point of a curve.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        leaves: Leaves,
        background: Background,
        output_names: tuple[str, ...],
        outputs: Indices,
        ledger: Ledger,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._leaves = leaves
        pool = BlockPool(threads, ledger)
        to_outputs, rows = self._to_outputs, leaves.rows(background)
        bound = BoundRows(ensemble, background, output_names, outputs, to_outputs, pool, rows)
        super().__init__(bound, threads)
        self._pure: dict[Group, Matrix] = {}
        self._replicates: ReplicateEngines | None = None
        self._matrix = ensemble.matrix[outputs]
        self._are_targets = np.array_equal(self._matrix, np.eye(ensemble.matrix.shape[1]))

    def restrict(self, background: Background) -> Exact:
        names, outputs = self._bound.all_names, self._outputs
        return Exact(
            self._ensemble, self._leaves, background, names, outputs, self._ledger, self._threads
        )

    def for_joint(self, order: int) -> Exact:  # noqa: ARG002 - time grows with the rows
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:  # noqa: ARG002 - whatever the features
        return len(self._bound.background) * (1 if n_points is None else n_points)

    def pair_allowance(self) -> float:
        return float(_PAIR_NUMBERS / (len(self._bound.background) * self._matrix.shape[1]))

    def rounding_error(self) -> Vector:
        return AVERAGING * magnitude(self._ensemble)[self._outputs]

    def batches(self, weights: Array) -> Iterator[Array]:
        if weights.ndim == 1:
            yield weights
            return
        yield weights[0]
        size = self._batch_size()
        for start in range(1, len(weights), size):
            yield weights[start : start + size]

    def _batch_size(self) -> int:
        return max(1, _BATCH_BYTES // (8 * len(self._bound.background) * len(self._outputs)))

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        if weights is not None:
            yield from self._with_weights(weights).single(features)
            return
        for counted in self._strategy.singles(features, self._pool):
            j, own = counted.feature, counted.own
            if isinstance(own, CountedLeaves):
                own = evaluate_pure(self._ensemble, own, [self._bound.ranked.codes[j]])
            self._pure[j,] = own
            self._ledger.spend(len(self._bound.background), 0)
            whole = self._to_outputs(self._mean + self._pure[j,])
            yield Single(j, whole, self._to_outputs(counted.others))

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        if weights is not None:
            yield from self._with_weights(weights).own_and_others(groups)
            return
        for group in groups:
            others = [j for j in range(len(self.background.columns)) if j not in group]
            own, rest = (self._to_outputs(self._sets.at_rows(part)) for part in (group, others))
            self._ledger.spend(len(self.background), 0)
            yield own, rest

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        if weights is not None:
            yield from self._with_weights(weights).wholes(groups)
            return
        for group in groups:
            self._ledger.spend(len(self.background), 0)
            yield self._to_outputs(self._sets.at_rows(group))

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        if weights is not None:
            yield from self._with_weights(weights).joint(groups)
            return
        count = self._prepare(groups, at_rows=True)
        wholes = self._pool.stream(lambda group: self._at_rows(group, count), groups, _AHEAD)
        for group, whole in zip(groups, wholes, strict=True):
            self._ledger.spend(len(self._bound.background), 0)
            yield Joint(group, whole, self._to_differences(self._pure[group]))

    def _with_weights(self, weights: Matrix) -> ReplicateEngines:
        """Return the engines for weights; those of the last call are memoized."""
        if self._replicates is None or self._replicates.weights is not weights:
            self._replicates = ReplicateEngines(self, weights)
        return self._replicates

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        return next(self.curves([(features, points)]))

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        if not requests:
            return
        count = self._prepare([tuple(features) for features, _ in requests])
        curves = self._pool.stream(lambda asked: self._at_points(asked, count), requests, _AHEAD)
        for curve in curves:
            self._ledger.spend(len(curve) * len(self._bound.background), 0)
            yield curve

    @property
    def _scale(self) -> LinkScale:
        return LinkScale(self._matrix, self._ensemble.offset[self._outputs], IDENTITY)

    def _of_scores(self, scores: Array) -> Array:
        return scores

    def exact_attributions(self) -> Exact:
        return self

    @property
    def has_paths(self) -> bool:
        return True

    def attribute(
        self, explained: Background, players: Sequence[tuple[int, ...]], game: Game
    ) -> Attributed:
        """Implement `ExactAttributions` by the leaves."""
        key = self.background.digest, tuple(players), game.perturbation, game.value
        make = partial(self._attributions, players, game)
        leaves = self._leaves.attributions(key, make)
        codes = cells_of(self._ensemble, explained, self._pool)
        attributed = leaves.attribute(codes, game.order, self._to_differences, self._pool)
        self._leaves.keep(key, leaves)
        self._ledger.spend(len(explained), 0)
        return attributed

    def _attributions(self, players: Sequence[tuple[int, ...]], game: Game) -> LeafAttributions:
        """Count the background for a game."""
        ranked, descent = self._bound.ranked, self._leaves.descent()
        reached = np.zeros(0)
        if game.perturbation is Perturbation.PATH_DEPENDENT:
            reached = leaf_shares(descent, ranked.codes, ranked.shares)
        background = CountedBackground(ranked.codes, ranked.shares, reached)
        parts = self._ensemble, descent, self._leaves.boxes(self._pool), background
        return LeafAttributions(*parts, players, game)

    @cached_property
    def _sets(self) -> SetEffects:
        boxes = self._leaves.boxes(self._pool)
        return SetEffects(self._ensemble, boxes, self._bound.ranked, self._pool)

    @cached_property
    def _strategy(self) -> CountingStrategy:
        return self._bound.rows.strategy(self._bound.background, self._pool)

    def _prepare(self, groups: Sequence[tuple[int, ...]], *, at_rows: bool = False) -> Count:
        """Compute all that waits for the pool, which its own threads must not do."""
        _ = self._mean
        parts = dict.fromkeys(part for group in groups for part in parts_of(group))
        counted = list(parts)  # at points, also those that are known at the rows
        if at_rows:
            unknown = [part for part in parts if part not in self._pure]
            counted = [part for part in unknown if not self._strategy.sums_at_rows(part)]
        return self._bound.rows.prepare(counted, self._bound.background, self._pool)

    @cached_property
    def _mean(self) -> Vector:
        """Mean sum of leaves over the rows: (n_targets,)."""
        mean = self._bound.rows.mean(self._bound.background, self._pool)
        return self._bound.ranked.shares @ self._bound.sums if mean is None else mean

    def _at_points(self, request: tuple[Sequence[int], Sequence[Array]], count: Count) -> Matrix:
        """Compute F at points, in the calling thread: (n_points, n_outputs)."""
        pairs = zip(*request, strict=True)
        cells = {j: self._ensemble.codes(j, values) for j, values in pairs}

        def pure(part: tuple[int, ...]) -> Matrix:
            return evaluate_pure(self._ensemble, count(part), [cells[j] for j in part])

        return self._to_outputs(self._whole(tuple(cells), pure))

    def _at_rows(self, group: tuple[int, ...], count: Count) -> Matrix:
        """Compute F of a group at the rows, in the calling thread: (n, n_outputs)."""

        def pure(part: tuple[int, ...]) -> Matrix:
            if part in self._pure:
                return self._pure[part]
            if self._strategy.sums_at_rows(part):
                self._pure[part] = self._strategy.pure_at_rows(part)
            else:
                codes = [self._bound.ranked.codes[j] for j in part]
                self._pure[part] = evaluate_pure(self._ensemble, count(part), codes)
            return self._pure[part]

        return self._to_outputs(self._whole(group, pure))

    def _whole(self, group: tuple[int, ...], pure: Callable[[tuple[int, ...]], Matrix]) -> Matrix:
        """Add up F of a group from the pure effects of all its parts."""
        parts = parts_of(group)
        whole = self._mean + pure(parts[0])
        for part in parts[1:]:
            whole += pure(part)
        return whole

    def _to_outputs(self, targets: Matrix) -> Matrix:
        """Compute outputs from sums of leaves."""
        return self._to_differences(targets) + self._ensemble.offset[self._outputs]

    def _to_differences(self, targets: Array) -> Array:
        """Compute differences of outputs from differences of sums of leaves: these, if equal.

        Targets are the last axis.
        """
        if self._are_targets:
            return targets
        difference: Array = targets @ self._matrix.T
        return difference
