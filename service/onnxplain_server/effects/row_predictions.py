"""Predictions of the background's rows: from the effect cache, or predicted once and cached."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.predictor import Predictor, check_finite, describe_rows

_BLOCK_ROWS = 16_000
"""Rows per task of the thread pool."""


class RowPredictions:
    """Memoized predictions of the background's rows.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    cache : EffectCache
    """

    def __init__(self, predictor: Predictor, background: Background, cache: EffectCache) -> None:
        self._predictor = predictor
        self._background = background
        self._cache = cache
        self._predictions: Matrix | None = None

    def get(self) -> Matrix:
        """Return the predictions: (n_rows, n_outputs)."""
        if self._predictions is None:
            self._predictions = self._from_cache_or_model()
        return self._predictions

    def in_place_of(self, planned: int) -> Matrix:
        """Return the predictions, and release a plan of `planned` rows that need no others."""
        rows = len(self._background) if self._predictions is None else 0
        self._predictor.ledger.release(planned - rows)
        return self.get()

    def _from_cache_or_model(self) -> Matrix:
        background, key = self._background, CacheKey("outputs", len(self._background))
        cached = self._cache.get([key])[0]
        if cached is not None:
            self._predictor.ledger.spend(len(background), 0)
            return cached
        predictions = self._predict()
        check_finite(
            predictions,
            lambda rows: (
                f"the model's prediction is not finite for {describe_rows(background, rows)}; "
                "remove or mend these rows"
            ),
        )
        self._cache.put(key, predictions)
        return predictions

    def _predict(self) -> Matrix:
        """Predict the rows, in blocks that run in parallel."""
        features, columns = self._background.features, self._background.columns
        starts = range(0, len(self._background), _BLOCK_ROWS)

        def predict_block(start: int) -> Matrix:
            block = [column[start : start + _BLOCK_ROWS] for column in columns]
            return self._predictor.predict_rows(features, block)

        if len(starts) == 1:
            return predict_block(0)
        return np.concatenate(self._predictor.in_parallel(predict_block, starts))
