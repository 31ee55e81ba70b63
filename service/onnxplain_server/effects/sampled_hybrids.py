"""Sampled hybrids: the black-box engine of a model of which few hybrid rows are predicted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import starmap

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.black_box import BlackBox

_FEWEST_AT_ONCE = 64
"""Rows of a part that a thread predicts, so that a call is worth its while."""


class SampledHybrids(BlackBox):
    """`BlackBox` whose methods choose the hybrid rows that are predicted."""

    def restrict(self, background: Background) -> SampledHybrids:
        return SampledHybrids(self._predictor, background, self._scale)

    def predict_hybrids(self, sources: Indices) -> Matrix:
        """Predict hybrid rows.

        Parameters
        ----------
        sources : (n_hybrids, n_features)
            Row of the background that each feature's value comes from.

        Returns
        -------
        (n_hybrids, n_outputs)

        Raises
        ------
        ExplainError
            INVALID_OPTION where predictions are not finite.
        """
        parts = max(1, min(self._predictor.thread_count, len(sources) // _FEWEST_AT_ONCE))
        size = math.ceil(len(sources) / parts)
        pieces = [sources[start : start + size] for start in range(0, len(sources), size)]
        predicted = np.concatenate(self._predictor.in_parallel(self._predict, pieces))
        unusable = int((~np.isfinite(predicted)).any(axis=1).sum())
        if unusable:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"the engine SURROGATE fits the model's predictions, and those of {unusable:,} of "
                f"{len(predicted):,} hybrid rows are not finite; ask for BLACK_BOX",
                "engine",
            )
        return predicted

    def _predict(self, sources: Indices) -> Matrix:
        columns: Sequence[Indices] = [*sources.T]
        hybrids = [*starmap(np.take, zip(self.background.columns, columns, strict=True))]
        return self._predictor.predict_rows(self.background.features, hybrids)
