"""Additive engine: effects on outputs that are made of a link function of sums of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from onnxplain_server.additive.attributing import attribute
from onnxplain_server.additive.averages import average
from onnxplain_server.additive.model import MIXING, AdditiveModel, TermLink
from onnxplain_server.additive.pair_terms import PairTables
from onnxplain_server.additive.summed_rows import SummedRows
from onnxplain_server.additive.terms import size_of
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.core.row_draws import draw
from onnxplain_server.effects.attributing.games import Attributed, ExactAttributions, Game
from onnxplain_server.effects.attributing.mixed_rows import RowMixture, not_finite_mixed
from onnxplain_server.effects.background import Background, combine, sum_by_code
from onnxplain_server.effects.engine import Group, Joint, Single, pure_effect
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.effects.row_predictions import check_finite, not_finite_at

_BATCH_BYTES = 16 << 20
"""Size of an effect under several weights."""
_PAIR_NUMBERS = 2_000_000
"""Most numbers of the effects of pairs at the rows, where a request does not say which pairs."""
_FEWEST_ROWS = 4_000
"""Rows up to which a pair takes about the same time."""


class AdditiveSetup(NamedTuple):
    """Parts of an additive engine beside its rows.

    Attributes
    ----------
    tables : PairTables
        Of the model of the outputs explained.
    output_names : tuple of str
    categories : frozenset of int
        Features whose numbers are categories.
    ledger : Ledger
    joint_row_count : int
        Most rows for joint effects, where their time grows with the square of the rows.
    """

    tables: PairTables
    output_names: tuple[str, ...]
    categories: frozenset[int]
    ledger: Ledger
    joint_row_count: int


def is_quadratic(model: AdditiveModel) -> bool:
    """Return whether the time of effects at the rows grows with the square of the rows."""
    is_sum = model.link is TermLink.IDENTITY
    return model.link in MIXING or (not is_sum and bool(model.values_by_pair))


class Additive:
    """Implements `Effects` for outputs that are affine in a link function of sums of terms.

    With t_j(x_j) the term of feature j and m_i the sum of row i, moving features S of row i to v
    gives the sum m_i + Σ of (t_j(v_j) - t_j(x_ij)) over j in S, and likewise with terms of pairs,
    which are tabulated. So no row is predicted: effects are averages of the link function over
    numbers that are known. Where the outputs are the sums, effects of several features without a
    term of both are exactly those of each, added up.

    Parameters
    ----------
    setup : AdditiveSetup
    background : Background

    Notes
    -----
    Progress counts the rows of the background once per effect and once per point of a curve.
    """

    def __init__(self, setup: AdditiveSetup, background: Background) -> None:
        self._setup = setup
        self._model = setup.tables.model
        self._background = background
        self._rows = SummedRows(setup.tables, background)
        self._effects: dict[tuple[int, ...], Array] = {}
        self._weights: Matrix | None = None

    @property
    def background(self) -> Background:
        return self._background

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._setup.output_names

    @property
    def categories(self) -> frozenset[int]:
        return self._setup.categories

    @property
    def unused(self) -> frozenset[int]:
        """Features without a term; see `UnusedFeatures`."""
        return frozenset(range(len(self._background.columns))) - self._rows.used

    def restrict(self, background: Background) -> Additive:
        return Additive(self._setup, background)

    def for_joint(self, order: int) -> Additive:  # noqa: ARG002 - time does not grow with the order
        if not is_quadratic(self._model):
            return self
        rows = draw(self._background.source, self._setup.joint_row_count, 0)
        if len(rows) == len(self._background):
            return self
        return self.restrict(self._background.take(rows))

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:  # noqa: ARG002 - whatever the features
        return len(self._background) * (1 if n_points is None else n_points)

    def pair_allowance(self) -> float:
        n = len(self._background)
        size = n * n if is_quadratic(self._model) else max(n, _FEWEST_ROWS)
        return _PAIR_NUMBERS / (size * self._model.sum_count)

    def release(self, rows: int) -> None:
        self._setup.ledger.release(rows)

    def rounding_error(self) -> Vector:
        tables = {pair: self._rows.table(pair) for pair in self._rows.pairs}
        sizes = size_of(self._rows.terms, tables, self._model.sums.offset)
        if self._model.link is TermLink.IDENTITY:
            return AVERAGING * sizes
        largest = 1.0
        if self._model.link is TermLink.EXPONENTIAL:  # as steep as it is large
            largest = float(np.abs(self._model.linked(self._rows.sums)).max(initial=1.0))
        errors = np.full(self._model.sum_count, AVERAGING * (1 + sizes.max()) * largest)
        if self._model.combination is None:
            return errors
        matrix, offset = self._model.combination
        bound: Vector = np.abs(matrix) @ errors + AVERAGING * np.abs(offset)
        return bound

    def outputs(self) -> Matrix:
        self._setup.ledger.spend(len(self._background), 0)
        return self._rows.outputs

    def batches(self, weights: Array) -> Iterator[Array]:
        if weights.ndim == 1:
            yield weights
            return
        yield weights[:1][0]
        size = self._batch_size()
        for start in range(1, len(weights), size):
            yield weights[start : start + size]

    def batch_count(self, replicate_count: int) -> int:
        return 1 + replicate_count  # each replicate costs as much as the background's weights

    def _batch_size(self) -> int:
        return max(1, _BATCH_BYTES // (8 * len(self._background) * len(self.output_names)))

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        self._forget(weights)
        effects = self.own_and_others([(j,) for j in features], weights)
        for j, (own, others) in zip(features, effects, strict=True):
            self._effects[j,] = own
            yield Single(j, own, others)

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        shares = self._rows.shares(weights)
        for group in groups:
            own, others = self._own_and_others(group, shares)
            self._setup.ledger.spend(len(shares) * len(self._background), 0)
            yield (own[0], others[0]) if weights is None else (own, others)

    def _own_and_others(self, group: Group, shares: Matrix) -> tuple[Cube, Cube]:
        r"""Return F_G and F_\G at the rows: (n_sets, n, n_outputs) each."""
        used = [j for j in group if j in self._rows.used]
        if not used:
            mean = np.tensordot(shares, self._rows.outputs, (1, 0))[:, np.newaxis]
            shape = (len(shares), *self._rows.outputs.shape)
            return np.broadcast_to(mean, shape), np.broadcast_to(self._rows.outputs, shape)
        first, codes = combine([self._background.codes[j] for j in used])
        moved = self._rows.to_rows(used).at(first)
        means = average(self._model, moved, shares, sum_by_code(shares, codes))
        assert means.over_points is not None  # noqa: S101 - shares of points were given
        return means.over_rows[:, codes], means.over_points

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        shares = self._rows.shares(weights)
        self._forget(weights)
        for group in groups:
            self._setup.ledger.spend(len(shares) * len(self._background), 0)
            yield self._joint(group, shares, weights)

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        shares = self._rows.shares(weights)
        for group, whole in zip(groups, self.wholes(groups, weights), strict=True):
            if self._is_sum_of_parts(group):
                yield Joint(group, whole, np.zeros_like(whole))
                continue
            for size in range(1, len(group)):
                for part in combinations(group, size):
                    self._joint(part, shares, weights)
            yield Joint(group, whole, pure_effect(group, self._effects))

    def _is_sum_of_parts(self, group: tuple[int, ...]) -> bool:
        """Return whether features do nothing together beyond what fewer of them do."""
        if not self._rows.used >= set(group):
            return True
        is_paired = len(group) == 2 and tuple(sorted(group)) in self._rows.pairs
        return self._model.link is TermLink.IDENTITY and not is_paired

    def _forget(self, weights: Matrix | None) -> None:
        """Forget the effects under other weights."""
        if self._weights is not weights:
            self._effects, self._weights = {}, weights

    def _joint(self, group: tuple[int, ...], shares: Matrix, weights: Matrix | None) -> Array:
        """Return the effect of a group at the rows: (n, n_outputs), or with sets of weights."""
        if group not in self._effects:
            used = [j for j in group if j in self._rows.used]
            first, inverse = combine([self._background.codes[j] for j in used or group[:1]])
            means = average(self._model, self._rows.to_rows(used).at(first), shares)
            own = means.over_rows[:, inverse]
            self._effects[group] = own[0] if weights is None else own
        return self._effects[group]

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        return next(self.curves([(features, points)]))

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        shares = self._rows.shares(None)
        for (features, points), moved in zip(requests, self._rows.to_points(requests), strict=True):
            curve = average(self._model, moved, shares).over_rows[0]
            self._setup.ledger.spend(len(curve) * len(self._background), 0)
            yield self._check_points(curve, features, points)

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        (moved,) = self._rows.to_points([(features, points)])
        predicted: Cube = self._model.outputs(moved.pairwise())
        self._setup.ledger.spend(len(moved.points) * len(self._background), 0)
        self._check_points(predicted.max(axis=0) - predicted.min(axis=0), features, points)
        return predicted

    def _check_points(
        self, values: Matrix, features: Sequence[int], points: Sequence[Array]
    ) -> Matrix:
        names = self._background.features.names
        return check_finite(values, lambda wrong: not_finite_at(names, features, points, wrong[0]))

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        moved = self._rows.to_rows(features)
        predicted = []
        for order in permutations:
            self._setup.ledger.spend(len(order), 0)
            predicted.append(self._model.outputs(moved.at(order).row_by_row()))
        return predicted

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        theirs = self._rows.terms_of(explained)
        own, others, is_own = mixture
        sums = self._rows.sums[others]
        for j, term in theirs.items():
            chosen = np.flatnonzero(is_own[:, j])
            codes = self._background.codes[j][others[chosen]]
            sums[chosen] += term[own[chosen]] - self._rows.terms[j][codes]
        sums += self._rows.mixed_pairs(explained, mixture)
        self._setup.ledger.spend(len(own), 0)
        predicted = self._model.outputs(sums)
        return check_finite(predicted, lambda rows: not_finite_mixed(explained, mixture, rows))

    def exact_attributions(self) -> ExactAttributions | None:
        return self if self._model.link is TermLink.IDENTITY else None

    @property
    def has_paths(self) -> bool:
        return False

    def attribute(
        self, explained: Background, players: Sequence[tuple[int, ...]], game: Game
    ) -> Attributed:
        """Implement `ExactAttributions`, where the outputs are the sums."""
        attributed = attribute(self._rows, explained, players, game)
        self._setup.ledger.spend(len(explained), 0)
        return attributed

    def cached(
        self,
        identity: bytes,  # noqa: ARG002 - numbers that need no prediction are not cached
        shape: tuple[int, int],  # noqa: ARG002 - likewise
        rows: int,  # noqa: ARG002 - likewise
        compute: Callable[[], Matrix],
    ) -> Matrix:
        return compute()
