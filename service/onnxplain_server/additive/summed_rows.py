"""Rows of an additive engine: their terms and sums, and terms at points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from onnxplain_server.additive.model import AdditiveModel
from onnxplain_server.additive.terms import FeatureTerms
from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.row_predictions import check_finite, not_finite


class SummedRows:
    """Rows with their terms.

    Parameters
    ----------
    model : AdditiveModel
    background : Background
    """

    def __init__(self, model: AdditiveModel, background: Background) -> None:
        self.model = model
        self.background = background
        self._terms_of = FeatureTerms(model, background.features)

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
    def sums(self) -> Matrix:
        """Sums of the rows: (n, n_sums)."""
        sums = np.tile(self.model.sums.offset, (len(self.background), 1))
        for j, term in self.terms.items():
            sums += term[self.background.codes[j]]
        return sums

    def at_rows(self, features: Sequence[int]) -> Matrix:
        """Add up the terms of features at the rows: (n, n_sums)."""
        total = np.zeros((len(self.background), self.model.sum_count))
        for j in features:
            if j in self.terms:
                total += self.terms[j][self.background.codes[j]]
        return total

    def at_points(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> list[Matrix]:
        """Add up the terms of features at points: (n_points, n_sums) for each request."""
        by_feature: dict[int, list[Array]] = {}
        for features, points in requests:
            for j, values in zip(features, points, strict=True):
                by_feature.setdefault(j, []).append(values)
        joined = {j: np.concatenate(parts) for j, parts in by_feature.items()}
        terms = self._terms_of.at(joined, self.background.columns)
        starts = dict.fromkeys(by_feature, 0)
        sums = []
        for features, points in requests:
            total = np.zeros((len(points[0]), self.model.sum_count))
            for j, values in zip(features, points, strict=True):
                if j in terms:
                    total += terms[j][starts[j] : starts[j] + len(values)]
                    starts[j] += len(values)
            sums.append(total)
        return sums

    def shares(self, weights: Matrix | None) -> Matrix:
        """Return shares of the rows: (n_sets, n)."""
        whole = self.background.weights[np.newaxis] if weights is None else weights
        shares: Matrix = whole / whole.sum(axis=1, keepdims=True)
        return shares

    def terms_of(self, rows: Background) -> Mapping[int, Matrix]:
        """Compute the terms of other rows: (n_rows, n_sums) for each feature that has one."""
        return self._terms_of.at(dict(enumerate(rows.columns)), rows.columns)
