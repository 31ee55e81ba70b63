"""Cache of averages over rows and points: of the background's weights always, of others if slow.

Replicates have averages of a hundred times the size, which a fast model computes again in less
time than it takes to store them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from onnxplain_server.core.arrays import Array
from onnxplain_server.effects.background import fingerprint
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.sweeping.sweep import Averages

_SLOW_SECONDS = 0.5


class AveragesCache:
    """Averages of one engine, by key and weights.

    Parameters
    ----------
    cache : EffectCache
    batch_size : BatchSize
        Tells what is slow.
    weights : (n_rows,), (n_replicates, n_rows), or None
        None for the background's own.
    """

    def __init__(self, cache: EffectCache, batch_size: BatchSize, weights: Array | None) -> None:
        self._cache = cache
        self._batch_size = batch_size
        self._count = 1 if weights is None else len(weights)
        self._suffix = ""
        if weights is not None:
            self._suffix = f" weights {hashlib.sha256(fingerprint(weights)).hexdigest()}"

    def get(self, keys: Sequence[CacheKey]) -> list[Array | None]:
        """Look averages up at once: (length, n_outputs) each; replicates first."""
        found = self._cache.get([self._key(key) for key in keys])
        return [
            None if values is None else self._with_replicates(values, key.length)
            for key, values in zip(keys, found, strict=True)
        ]

    def put(self, key: CacheKey, values: Array, rows: int) -> None:
        """Store averages whose computation predicted up to so many rows."""
        is_slow = 0 < self._batch_size.rows_in(_SLOW_SECONDS) < rows
        if not self._suffix or is_slow:
            self._cache.put(self._key(key), values.reshape(-1, values.shape[-1]))

    def get_pairs(self, keys: Sequence[tuple[CacheKey, CacheKey]]) -> list[Averages | None]:
        """Look averages over rows and over points up, of several effects at once."""
        entries = self.get([key for pair in keys for key in pair])
        return [
            None if points is None or rows is None else Averages(points, rows)
            for points, rows in zip(entries[::2], entries[1::2], strict=True)
        ]

    def put_pair(self, keys: tuple[CacheKey, CacheKey], averages: Averages, rows: int) -> None:
        """Store averages over rows and over points; `rows` as for `put`."""
        self.put(keys[0], averages.points, rows)
        self.put(keys[1], averages.rows, rows)

    def _key(self, key: CacheKey) -> CacheKey:
        return CacheKey(key.kind + self._suffix, key.length * self._count)

    def _with_replicates(self, values: Array, length: int) -> Array:
        return values.reshape(self._count, length, -1) if self._suffix else values
