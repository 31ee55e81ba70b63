"""Additive engine: effects on outputs that are made of a link function of sums of terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.additive.attributing import attribute
from onnxplain_server.additive.averages import MovedAverages, average
from onnxplain_server.additive.formula_effects import FormulaEffects
from onnxplain_server.additive.model import MIXING, AdditiveModel, TermLink
from onnxplain_server.additive.pair_terms import PairTables
from onnxplain_server.additive.summed_rows import SummedRows
from onnxplain_server.additive.terms import size_of
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.core.row_draws import draw
from onnxplain_server.effects.attributing.games import Attributed, ExactAttributions, Game
from onnxplain_server.effects.attributing.mixed_rows import RowMixture, not_finite_mixed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Group
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.effects.row_predictions import check_finite

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


class Additive(FormulaEffects):
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
    """

    def __init__(self, setup: AdditiveSetup, background: Background) -> None:
        super().__init__(background, setup.output_names, setup.categories, setup.ledger)
        self._setup = setup
        self._model = setup.tables.model
        self._rows = SummedRows(setup.tables, background)

    @property
    def _used(self) -> frozenset[int]:
        return self._rows.used

    def _outputs(self) -> Matrix:
        return self._rows.outputs

    def _averages(
        self,
        features: Sequence[int],
        rows: Indices,
        shares: Matrix,
        row_shares: Matrix | None = None,
    ) -> MovedAverages:
        return average(self._model, self._rows.to_rows(features).at(rows), shares, row_shares)

    def _at_points(
        self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]], shares: Matrix
    ) -> Iterator[Matrix]:
        for moved in self._rows.to_points(requests):
            yield average(self._model, moved, shares).over_rows[0]

    def restrict(self, background: Background) -> Additive:
        return Additive(self._setup, background)

    def for_joint(self, order: int) -> Additive:  # noqa: ARG002 - time does not grow with the order
        if not is_quadratic(self._model):
            return self
        rows = draw(self._background.source, self._setup.joint_row_count, 0)
        if len(rows) == len(self._background):
            return self
        return self.restrict(self._background.take(rows))

    def pair_allowance(self) -> float:
        n = len(self._background)
        size = n * n if is_quadratic(self._model) else max(n, _FEWEST_ROWS)
        return _PAIR_NUMBERS / (size * self._model.sum_count)

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

    def _is_sum_of_parts(self, group: Group) -> bool:
        is_paired = len(group) == 2 and tuple(sorted(group)) in self._rows.pairs
        is_sum = self._model.link is TermLink.IDENTITY and not is_paired
        return is_sum or super()._is_sum_of_parts(group)

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        (moved,) = self._rows.to_points([(features, points)])
        predicted: Cube = self._model.outputs(moved.pairwise())
        self._ledger.spend(len(moved.points) * len(self._background), 0)
        self._check_points(predicted.max(axis=0) - predicted.min(axis=0), features, points)
        return predicted

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        moved = self._rows.to_rows(features)
        predicted = []
        for order in permutations:
            self._ledger.spend(len(order), 0)
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
        self._ledger.spend(len(own), 0)
        predicted = self._model.outputs(sums)
        return check_finite(predicted, lambda rows: not_finite_mixed(explained, mixture, rows))

    def exact_attributions(self) -> ExactAttributions | None:
        return self if self._model.link is TermLink.IDENTITY else None

    def attribute(
        self, explained: Background, players: Sequence[tuple[int, ...]], game: Game
    ) -> Attributed:
        """Implement `ExactAttributions`, where the outputs are the sums."""
        attributed = attribute(self._rows, explained, players, game)
        self._ledger.spend(len(explained), 0)
        return attributed
