"""Predictions of the background's rows, from the effect cache or predicted once; checks of them.

An error names the rows whose predictions are not finite, and what is odd in these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.row_places import row_places
from onnxplain_server.core.rows import is_missing
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.predictor import Predictor

_BLOCK_ROWS = 16_384
"""Rows per task of the thread pool."""
_MAX_FEATURES = 3
"""Features with odd values that an error names."""


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
            check_finite(predictions, lambda rows: not_finite(background, rows))
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


def check_finite(values: Matrix, describe: Callable[[Indices], str]) -> Matrix:
    """Return predictions, or averages of them, if all are finite.

    Parameters
    ----------
    values : (n, n_outputs)
    describe : callable
        Describes those that are not, given their positions.

    Raises
    ------
    ExplainError
        NON_FINITE_PREDICTION. A broken model must not read as "no effect".
    """
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(wrong):
        raise ExplainError(Reason.NON_FINITE_PREDICTION, describe(wrong))
    return values


def describe_rows(background: Background, rows: Indices) -> str:
    """Name rows of the table for an error text."""
    return row_places(background.source[rows].tolist())


def not_finite(background: Background, rows: Indices) -> str:
    """Tell for which rows predictions are not finite, what is odd in these, and the remedy."""
    places, odd = describe_rows(background, rows), list(_odd_values(background, rows))
    remedy = "remove or mend these rows" if len(rows) > 1 else "remove or mend this row"
    if not odd:
        return f"the model's prediction is not finite for {places}; {remedy}, or mend the model"
    return (
        f"the model's prediction is not finite for {places}: {' and '.join(odd[:_MAX_FEATURES])}; "
        f"{remedy}, or use a model that takes such values"
    )


def not_finite_at(
    names: Sequence[str], features: Sequence[int], grid: Sequence[Array], point: int
) -> str:
    """Tell at which point of a grid predictions are not finite, and the remedy."""
    where = " and ".join(
        f"{names[j]} = {values[point]}" for j, values in zip(features, grid, strict=True)
    )
    return (
        f"the model's prediction is not finite for some rows when {where}; "
        "restrict the grid, or mend the model"
    )


def _odd_values(background: Background, rows: Indices) -> Iterator[str]:
    """Yield features that have no value, or an infinite one, in some of the rows."""
    for name, column in zip(background.features.names, background.columns, strict=True):
        values = column[rows]
        if values.dtype.kind in "fO" and (missing := is_missing(values)).any():
            yield f"{name!r} has no value {_share(missing, 'any')}"
        if values.dtype.kind == "f" and (infinite := np.isinf(values)).any():
            yield f"{name!r} is infinite {_share(infinite, 'all')}"


def _share(is_odd: Array, every: str) -> str:
    if len(is_odd) == 1:
        return "there"
    count = int(is_odd.sum())
    return f"in {every if count == len(is_odd) else f'{count:,}'} of them"
