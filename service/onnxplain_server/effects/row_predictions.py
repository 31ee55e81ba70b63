"""Predictions of the background's rows: from the effect cache, or predicted once and cached."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.predictor import Predictor, check_finite, describe_rows

_BLOCK_ROWS = 16_384
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
        self._is_unplanned = False

    def get(self) -> Matrix:
        """Return the predictions: (n_rows, n_outputs)."""
        if self._predictions is None:
            self._predictions = self._from_cache_or_model(self._predictor)
        elif self._is_unplanned:
            self._predictor.ledger.spend(len(self._background), 0)
        self._is_unplanned = False
        return self._predictions

    def get_unplanned(self) -> Matrix:
        """Return the predictions for work whose plan does not have them."""
        if self._predictions is None:
            self._predictions = self._from_cache_or_model(self._predictor.unplanned())
            self._is_unplanned = True
        return self._predictions

    def in_place_of(self, planned: int) -> Matrix:
        """Return the predictions, and release a plan of `planned` rows that need no others."""
        is_planned = self._predictions is None or self._is_unplanned
        self._predictor.ledger.release(planned - (len(self._background) if is_planned else 0))
        return self.get()

    def _from_cache_or_model(self, predictor: Predictor) -> Matrix:
        background, key = self._background, CacheKey("outputs", len(self._background))
        cached = self._cache.get([key])[0]
        if cached is not None:
            predictor.ledger.spend(len(background), 0)
            return cached
        with predictor.unit():
            predictions = self._predict(predictor)
            check_finite(
                predictions,
                lambda rows: (
                    f"the model's prediction is not finite for {describe_rows(background, rows)}; "
                    "remove or mend these rows"
                ),
            )
            self._cache.put(key, predictions)
        return predictions

    def _predict(self, predictor: Predictor) -> Matrix:
        """Predict the rows, in blocks that run in parallel."""
        features, columns = self._background.features, self._background.columns
        starts = range(0, len(self._background), _BLOCK_ROWS)

        def predict_block(start: int) -> Matrix:
            block = [column[start : start + _BLOCK_ROWS] for column in columns]
            return predictor.predict_rows(features, block)

        if len(starts) == 1:
            return predict_block(0)
        return np.concatenate(predictor.in_parallel(predict_block, starts))
