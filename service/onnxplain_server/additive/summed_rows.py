"""Rows of an additive engine: their terms and sums, and terms at points."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np

from onnxplain_server.additive.model import Pair
from onnxplain_server.additive.moved import Cross, Moved
from onnxplain_server.additive.pair_terms import PairTables
from onnxplain_server.additive.terms import FeatureTerms
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.row_predictions import check_finite, not_finite


class SummedRows:
    """Rows with their terms.

    Parameters
    ----------
    tables : PairTables
        Of the model.
    background : Background
    """

    def __init__(self, tables: PairTables, background: Background) -> None:
        self.model = tables.model
        self.background = background
        self._tables = tables
        self._terms_of = FeatureTerms(tables.model, background.features)
        # Kinds of the distinct values of pairs' features, numbered before tables are made of them.
        self._level_kinds = {j: tables.kinds(j, background.levels[j]) for j in tables.features}

    @cached_property
    def outputs(self) -> Matrix:
        """Outputs of the rows: (n, n_outputs)."""
        predicted = self.model.outputs(self.sums)
        return check_finite(predicted, lambda rows: not_finite(self.background, rows))

    @cached_property
    def terms(self) -> Mapping[int, Matrix]:
        """Terms at each feature's distinct values: (n_levels, n_sums)."""
        levels = dict(enumerate(self.background.levels))
        return self._terms_of.at(levels, self.background.columns)

    @cached_property
    def used(self) -> frozenset[int]:
        """Features with a term."""
        return frozenset(self.terms) | self._tables.features

    @cached_property
    def sums(self) -> Matrix:
        """Sums of the rows: (n, n_sums)."""
        sums = np.tile(self.model.sums.offset, (len(self.background), 1))
        for j, term in self.terms.items():
            sums += term[self.background.codes[j]]
        for pair in self.pairs:
            sums += self._pair_at_rows(pair)
        return sums

    @property
    def pairs(self) -> Collection[Pair]:
        """Pairs with a term."""
        return self.model.values_by_pair.keys()

    def table(self, pair: Pair) -> Cube:
        """Terms of a pair for all kinds; see `PairTables.table`."""
        return self._tables.table(pair)

    def row_kinds(self, feature: int) -> Indices:
        """Kinds of the rows' values of a feature of pairs: (n,)."""
        return self._level_kinds[feature][self.background.codes[feature]]

    def _pair_at_rows(self, pair: Pair) -> Matrix:
        one, other = map(self.row_kinds, pair)
        return self.table(pair)[one, other]

    def at_rows(self, features: Sequence[int]) -> Matrix:
        """Add up the terms of these features alone at the rows: (n, n_sums)."""
        total = np.zeros((len(self.background), self.model.sum_count))
        for j in features:
            if j in self.terms:
                total += self.terms[j][self.background.codes[j]]
        for pair in self.pairs:
            if set(pair) <= set(features):
                total += self._pair_at_rows(pair)
        return total

    def rests(self, features: Sequence[int]) -> Matrix:
        """Sums of the rows without all terms of these features: (n, n_sums)."""
        rests = self.sums - self.at_rows(features)
        for pair in self._crossing(features):
            rests -= self._pair_at_rows(pair)
        return rests

    def to_rows(self, features: Sequence[int]) -> Moved:
        """Move features to what each row has: a point for each row."""
        kinds = {j: self.row_kinds(j) for j in self._tables.features & set(features)}
        return Moved(self.rests(features), self.at_rows(features), self.crosses(kinds))

    def _crossing(self, features: Collection[int]) -> list[Pair]:
        """Return the pairs of which one feature is among some."""
        return [pair for pair in self.pairs if len(set(pair) & set(features)) == 1]

    def crosses(self, kinds: Mapping[int, Indices]) -> list[Cross]:
        """Return the terms that features of these kinds have with others."""
        crosses = []
        for pair in self._crossing(kinds):
            first, second = pair
            (moved,) = set(pair) & kinds.keys()
            table = self.table(pair)
            if moved == first:
                crosses.append(Cross(self.row_kinds(second), kinds[first], table.swapaxes(0, 1)))
            else:
                crosses.append(Cross(self.row_kinds(first), kinds[second], table))
        return crosses

    def to_points(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> list[Moved]:
        """Move features to points, for each request."""
        by_feature: dict[int, list[Array]] = {}
        for features, points in requests:
            for j, values in zip(features, points, strict=True):
                by_feature.setdefault(j, []).append(values)
        joined = {j: np.concatenate(parts) for j, parts in by_feature.items()}
        terms = self._terms_of.at(joined, self.background.columns)
        kinds = {j: self._tables.kinds(j, joined[j]) for j in self._tables.features & joined.keys()}
        starts = dict.fromkeys(by_feature, 0)
        moved = []
        for features, points in requests:
            total = np.zeros((len(points[0]), self.model.sum_count))
            own: dict[int, Indices] = {}
            for j, values in zip(features, points, strict=True):
                place = slice(starts[j], starts[j] + len(values))
                starts[j] += len(values)
                if j in terms:
                    total += terms[j][place]
                if j in kinds:
                    own[j] = kinds[j][place]
            for pair in self.pairs:
                if own.keys() >= set(pair):
                    total += self.table(pair)[own[pair[0]], own[pair[1]]]
            moved.append(Moved(self.rests(features), total, self.crosses(own)))
        return moved

    def terms_of(self, rows: Background) -> Mapping[int, Matrix]:
        """Compute the terms of other rows: (n_rows, n_sums) for each feature that has one."""
        return self._terms_of.at(dict(enumerate(rows.columns)), rows.columns)

    def kinds_of(self, rows: Background) -> Mapping[int, Indices]:
        """Return the kinds of other rows' values of the features of pairs: (n_rows,)."""
        return {j: self._tables.kinds(j, rows.columns[j]) for j in self._tables.features}

    def mixed_pairs(self, explained: Background, mixture: RowMixture) -> Matrix:
        """Return what terms of pairs change in mixed rows: (n_mixed, n_sums)."""
        own, others, is_own = mixture
        change = np.zeros((len(own), self.model.sum_count))
        kinds = {
            j: np.where(is_own[:, j], theirs[own], self.row_kinds(j)[others])
            for j, theirs in self.kinds_of(explained).items()
        }
        for pair in self.pairs:
            before = tuple(self.row_kinds(j)[others] for j in pair)
            table = self.table(pair)
            change += table[kinds[pair[0]], kinds[pair[1]]] - table[before]
        return change
