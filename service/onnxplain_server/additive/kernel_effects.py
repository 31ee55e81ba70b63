"""Kernel effects: the additive engine on weighted sums of products of functions of one feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.additive.averages import MovedAverages
from onnxplain_server.additive.formula_effects import FormulaEffects
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.kernel_rows import KernelRows, front_values, outputs_of
from onnxplain_server.additive.terms import FrontValues
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.games import ExactAttributions
from onnxplain_server.effects.attributing.mixed_rows import RowMixture, not_finite_mixed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.row_predictions import check_finite, not_finite
from onnxplain_server.trees.kernels.block_pool import BlockPool

_PAIR_NUMBERS = 100_000_000
"""Most exponentials for the pairs of a request that does not say which."""


class KernelSetup(NamedTuple):
    """Parts of the engine beside its rows.

    Attributes
    ----------
    model : KernelModel
        Of the outputs explained.
    output_names : tuple of str
    categories : frozenset of int
        Features whose numbers are categories.
    pool : BlockPool
    """

    model: KernelModel
    output_names: tuple[str, ...]
    categories: frozenset[int]
    pool: BlockPool


class KernelEffects(FormulaEffects):
    """Implements `Effects` for outputs that are weighted sums of products of one feature each.

    No row is predicted; see `KernelRows`. Time grows with the rows times the kernels.

    Parameters
    ----------
    setup : KernelSetup
    background : Background
    """

    def __init__(self, setup: KernelSetup, background: Background) -> None:
        super().__init__(background, setup.output_names, setup.categories, setup.pool.ledger)
        self._setup = setup
        self._model = setup.model
        self._rows = KernelRows(setup.model, background, setup.pool)
        self._points = FrontValues(setup.model, background.features)

    @property
    def _used(self) -> frozenset[int]:
        return frozenset(self._model.values_by_feature)

    def _outputs(self) -> Matrix:
        return check_finite(self._rows.outputs, lambda rows: not_finite(self._background, rows))

    def _averages(
        self,
        features: Sequence[int],
        rows: Indices,
        shares: Matrix,
        row_shares: Matrix | None = None,
    ) -> MovedAverages:
        return self._rows.averages_at_rows(features, rows, shares, row_shares)

    def _at_points(
        self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]], shares: Matrix
    ) -> Iterator[Matrix]:
        for features, points in requests:
            values = self._values_at(features, points)
            if values:
                yield self._rows.averages_at_points(values, shares)[0]
            else:
                mean = shares[0] @ self._outputs()
                yield np.broadcast_to(mean, (len(points[0]), len(mean)))

    def _values_at(self, features: Sequence[int], points: Sequence[Array]) -> Mapping[int, Matrix]:
        """Return the values that kernels take of features at points: (n_points, n_own)."""
        at = dict(zip(features, points, strict=True))
        parts: dict[int, list[Matrix]] = {}
        for j, _, values in self._points.blocks(at, self._background.columns):
            parts.setdefault(j, []).append(values)
        return {j: np.concatenate(own) for j, own in parts.items()}

    def restrict(self, background: Background) -> KernelEffects:
        return KernelEffects(self._setup, background)

    def for_joint(self, order: int) -> KernelEffects:  # noqa: ARG002 - time does not grow with the order
        return self

    def pair_allowance(self) -> float:
        return _PAIR_NUMBERS / max(len(self._background) * self._model.kernel_count, 1)

    def rounding_error(self) -> Vector:
        return self._rows.rounding_error

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        values = self._values_at(features, points)
        shape = (len(self._background), len(points[0]), len(self._output_names))
        if values:
            predicted = self._rows.individual(values)
        else:
            predicted = np.broadcast_to(self._outputs()[:, np.newaxis], shape)
        self._ledger.spend(len(points[0]) * len(self._background), 0)
        self._check_points(predicted.max(axis=0) - predicted.min(axis=0), features, points)
        return predicted

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        places = self._model.values_by_feature
        moved = np.concatenate(
            [np.zeros(0, np.intp), *(places[j] for j in features if j in places)]
        )
        predicted = []
        for order in permutations:
            values = self._rows.values.copy()
            values[:, moved] = values[order[:, np.newaxis], moved]
            self._ledger.spend(len(order), 0)
            predicted.append(outputs_of(self._model, values))
        return predicted

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        own, others, is_own = mixture
        values, theirs = self._rows.values[others], front_values(self._model, explained)
        for j, places in self._model.values_by_feature.items():
            chosen = np.flatnonzero(is_own[:, j])
            values[chosen[:, np.newaxis], places] = theirs[own[chosen][:, np.newaxis], places]
        self._ledger.spend(len(own), 0)
        predicted = outputs_of(self._model, values)
        return check_finite(predicted, lambda rows: not_finite_mixed(explained, mixture, rows))

    def exact_attributions(self) -> ExactAttributions | None:
        return None
