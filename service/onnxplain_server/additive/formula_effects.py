"""Effects of formulas that are known: what engines that never predict have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from onnxplain_server.additive.averages import MovedAverages, row_shares
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.background import Background, combine, sum_by_code
from onnxplain_server.effects.engine import Group, Joint, Single, pure_effect
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.row_predictions import check_finite, not_finite_at

_BATCH_BYTES = 16 << 20
"""Size of an effect under several weights."""


class FormulaEffects(ABC):
    """Effects at the rows, and curves, of outputs whose averages over moved rows are known.

    Parameters
    ----------
    background : Background
    output_names : tuple of str
    categories : frozenset of int
        Features whose numbers are categories.
    ledger : Ledger

    Notes
    -----
    Progress counts the rows of the background once per effect and once per point of a curve.
    """

    def __init__(
        self,
        background: Background,
        output_names: tuple[str, ...],
        categories: frozenset[int],
        ledger: Ledger,
    ) -> None:
        self._background = background
        self._output_names = output_names
        self._categories = categories
        self._ledger = ledger
        self._effects: dict[tuple[int, ...], Array] = {}
        self._weights: Matrix | None = None

    @property
    @abstractmethod
    def _used(self) -> frozenset[int]:
        """Features that the outputs may depend on."""

    @abstractmethod
    def _outputs(self) -> Matrix:
        """Return the outputs of the rows: (n, n_outputs)."""

    @abstractmethod
    def _averages(
        self,
        features: Sequence[int],
        rows: Indices,
        shares: Matrix,
        row_shares: Matrix | None = None,
    ) -> MovedAverages:
        """Average the outputs of the rows with features moved to what some rows have.

        Parameters
        ----------
        features : sequence of int
            Some of those used.
        rows : (n_points,)
        shares : (n_sets, n)
            Of the rows that are moved.
        row_shares : (n_sets, n_points), or None
            Of what they are moved to.
        """

    @abstractmethod
    def _at_points(
        self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]], shares: Matrix
    ) -> Iterator[Matrix]:
        """Average the outputs of the rows with features moved to points, for each request."""

    def _is_sum_of_parts(self, group: Group) -> bool:
        """Return whether features do nothing together beyond what fewer of them do."""
        return not self._used >= set(group)

    @property
    def background(self) -> Background:
        return self._background

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._output_names

    @property
    def categories(self) -> frozenset[int]:
        return self._categories

    @property
    def unused(self) -> frozenset[int]:
        """Features that the outputs do not depend on; see `UnusedFeatures`."""
        return frozenset(range(len(self._background.columns))) - self._used

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:  # noqa: ARG002 - whatever the features
        return len(self._background) * (1 if n_points is None else n_points)

    def release(self, rows: int) -> None:
        self._ledger.release(rows)

    def outputs(self) -> Matrix:
        self._ledger.spend(len(self._background), 0)
        return self._outputs()

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
        return max(1, _BATCH_BYTES // (8 * len(self._background) * len(self._output_names)))

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        self._forget(weights)
        effects = self.own_and_others([(j,) for j in features], weights)
        for j, (own, others) in zip(features, effects, strict=True):
            self._effects[j,] = own
            yield Single(j, own, others)

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        shares = row_shares(self._background, weights)
        for group in groups:
            own, others = self._own_and_others(group, shares)
            self._ledger.spend(len(shares) * len(self._background), 0)
            yield (own[0], others[0]) if weights is None else (own, others)

    def _own_and_others(self, group: Group, shares: Matrix) -> tuple[Cube, Cube]:
        r"""Return F_G and F_\G at the rows: (n_sets, n, n_outputs) each."""
        used = [j for j in group if j in self._used]
        if not used:
            outputs = self._outputs()
            whole = np.broadcast_to(outputs, (len(shares), *outputs.shape))
            return self._means(shares), whole
        first, codes = combine([self._background.codes[j] for j in used])
        means = self._averages(used, first, shares, sum_by_code(shares, codes))
        assert means.over_points is not None  # noqa: S101 - shares of points were given
        return means.over_rows[:, codes], means.over_points

    def _means(self, shares: Matrix) -> Cube:
        """Return the average outputs, as effects at the rows: (n_sets, n, n_outputs)."""
        outputs = self._outputs()
        mean = np.tensordot(shares, outputs, (1, 0))[:, np.newaxis]
        return np.broadcast_to(mean, (len(shares), *outputs.shape))

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        shares = row_shares(self._background, weights)
        self._forget(weights)
        for group in groups:
            self._ledger.spend(len(shares) * len(self._background), 0)
            yield self._joint(group, shares, weights)

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        shares = row_shares(self._background, weights)
        for group, whole in zip(groups, self.wholes(groups, weights), strict=True):
            if self._is_sum_of_parts(group):
                yield Joint(group, whole, np.zeros_like(whole))
                continue
            for size in range(1, len(group)):
                for part in combinations(group, size):
                    self._joint(part, shares, weights)
            yield Joint(group, whole, pure_effect(group, self._effects))

    def _forget(self, weights: Matrix | None) -> None:
        """Forget the effects under other weights."""
        if self._weights is not weights:
            self._effects, self._weights = {}, weights

    def _joint(self, group: tuple[int, ...], shares: Matrix, weights: Matrix | None) -> Array:
        """Return the effect of a group at the rows: (n, n_outputs), or with sets of weights."""
        if group not in self._effects:
            own = self._own(group, shares)
            self._effects[group] = own[0] if weights is None else own
        return self._effects[group]

    def _own(self, group: Group, shares: Matrix) -> Cube:
        """Return F_G at the rows: (n_sets, n, n_outputs)."""
        used = [j for j in group if j in self._used]
        if not used:
            return self._means(shares)
        first, inverse = combine([self._background.codes[j] for j in used])
        own: Cube = self._averages(used, first, shares).over_rows[:, inverse]
        return own

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        return next(self.curves([(features, points)]))

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        found = self._at_points(requests, row_shares(self._background, None))
        for (features, points), curve in zip(requests, found, strict=True):
            self._ledger.spend(len(curve) * len(self._background), 0)
            yield self._check_points(curve, features, points)

    def _check_points(
        self, values: Matrix, features: Sequence[int], points: Sequence[Array]
    ) -> Matrix:
        names = self._background.features.names
        return check_finite(values, lambda wrong: not_finite_at(names, features, points, wrong[0]))

    @property
    def has_paths(self) -> bool:
        return False

    def cached(
        self,
        identity: bytes,  # noqa: ARG002 - numbers that need no prediction are not cached
        shape: tuple[int, int],  # noqa: ARG002 - likewise
        rows: int,  # noqa: ARG002 - likewise
        compute: Callable[[], Matrix],
    ) -> Matrix:
        return compute()
