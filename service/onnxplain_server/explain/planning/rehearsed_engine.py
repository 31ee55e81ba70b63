"""Rehearsal of the black-box engine: counts the rows that it would predict, and calls no model.

What is cached, merged, ignored or shared between groups is decided by the engine's own code, so
that the count is that of the computation. Values are made up: noise near one half, which is a valid
prediction for every loss. Effects of features with more values are stronger, so that a choice of
the strongest features takes those whose groups cost most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.curve_prediction import CurvePredictor, SweepRequest
from onnxplain_server.effects.engine import Single
from onnxplain_server.effects.hybrid_rows import HybridRows
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.row_predictions import RowPredictions
from onnxplain_server.effects.sweeping.sweep import Averages

_CENTER, _NOISE = 0.5, 0.01
_WEAKEST, _STRONGEST = 0.05, 0.3
"""Amplitudes of effects, of features with one value and with a value for each row."""


class RehearsedBlackBox(BlackBox):
    """`BlackBox` that spends rows of its ledger, and predicts none.

    Parameters
    ----------
    predictor : Predictor
        Gives ledger, outputs and threads; its model is not called.
    background : Background
    scale : str
    additive : set of int
        Features known to interact with no other; it may still grow.
    """

    def __init__(
        self, predictor: Predictor, background: Background, scale: str, additive: AbstractSet[int]
    ) -> None:
        super().__init__(predictor, background, scale)
        self._additive = additive
        self.curve_predictor = _RehearsedCurves(predictor, background, self._cache, self.unused)
        self._rows = _RehearsedRows(predictor, background, self._cache)
        outputs = self._rows.get_unplanned
        self._hybrids = _RehearsedHybrids(predictor, background, self._cache, outputs)

    def restrict(self, background: Background) -> RehearsedBlackBox:
        return RehearsedBlackBox(self._predictor, background, self._scale, self._additive)

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        for single in super().single(features, weights):
            if single.feature in self._additive:
                yield Single(single.feature, *self._of_unused(weights))
            else:
                yield single

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:  # noqa: ARG002 - whatever is mixed
        _spend(self._predictor, len(mixture.own))
        return _noise((len(mixture.own), len(self.output_names)))


class _RehearsedCurves(CurvePredictor):
    def sweep_all(self, requests: Sequence[SweepRequest]) -> list[Averages]:
        return [self._made_up(request) for request in requests]

    def _made_up(self, request: SweepRequest) -> Averages:
        sweep, inverse = self._merge(request)
        _spend(self._predictor, len(request.grid[0]) * sweep.row_count)
        level_counts = [len(self._background.levels[j]) for j in request.features]
        share = min(1.0, float(np.prod(level_counts)) / max(len(self._background), 1))
        amplitude = _WEAKEST + (_STRONGEST - _WEAKEST) * share
        shares, outputs = request.shares, len(self._predictor.output_names)
        return Averages(
            _noise((*shares.rows.shape[:-1], len(request.grid[0]), outputs), amplitude),
            _noise((*shares.points.shape[:-1], len(inverse), outputs), amplitude),
        )

    def _predict_individual(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:  # noqa: ARG002 - only their number counts
        rows = len(self._background) * len(points[0])
        _spend(self._predictor, rows)
        return _noise((rows, len(self._predictor.output_names)))

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:  # noqa: ARG002 - whatever is permuted
        rows, count = len(self._background), len(permutations)
        _spend(self._predictor, rows * count)
        return list(_noise((count, rows, len(self._predictor.output_names))))


class _RehearsedRows(RowPredictions):
    def _predict(self, predictor: Predictor) -> Matrix:
        _spend(predictor, len(self._background))
        return _noise((len(self._background), len(predictor.output_names)))


class _RehearsedHybrids(HybridRows):
    def _block(self, group: tuple[int, ...], at: Indices, predictor: Predictor) -> Cube:
        new = self._new(group, at)
        rows = int(new.sum())
        _spend(predictor, rows)
        predictor.ledger.release(new.size - rows)
        return _noise((*new.shape, len(predictor.output_names)))


def _spend(predictor: Predictor, rows: int) -> None:
    predictor.ledger.spend(rows, rows)


def _noise(shape: tuple[int, ...], amplitude: float = _NOISE) -> Array:
    """Return values around one half, within `amplitude`."""
    noise = np.random.default_rng(int(np.prod(shape))).uniform(-amplitude, amplitude, shape)
    return noise + _CENTER
