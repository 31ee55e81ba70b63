"""Effect cache: memoized arrays of one model on one background, keyed by all they depend on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, pack
from onnxplain_server.effects.ledger import Ledger

_VERSION = "2"
"""Version of the numbers: raise it when a change of code changes the numbers of a key."""
_BATCH_BYTES = 2**18
"""Of effects that are stored together: about as many as are computed in some milliseconds."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Key of an effect within an `EffectCache`.

    Attributes
    ----------
    kind : str
        Kind of effect, its features and points.
    length : int
        Number of rows or points.
    """

    kind: str
    length: int


class EffectCache:
    """Cache of effects, one array per output, so that requests for other outputs share them.

    Parameters
    ----------
    ledger : Ledger
    identity : str
        Scale, rows and weights.
    outputs : sequence of str
        Identities of the outputs.
    """

    def __init__(self, ledger: Ledger, identity: str, outputs: Sequence[str]) -> None:
        self._ledger = ledger
        self._identity = identity
        self._outputs = outputs

    def get(self, keys: Sequence[CacheKey]) -> list[Matrix | None]:
        """Look effects up at once: (length, n_outputs) each, None for a miss."""
        names = [[self._name(key, output) for output in self._outputs] for key in keys]
        entries = self._ledger.cache_get(names, [(key.length,) for key in keys])
        return [None if arrays is None else np.stack(arrays, axis=1) for arrays in entries]

    def put(self, key: CacheKey, values: Matrix) -> None:
        """Store an effect: (length, n_outputs)."""
        self._ledger.put_bytes(self._packed(key, values))

    def collector(self, count: int) -> Callable[[CacheKey, Matrix], None]:
        """Return a `put` whose effects are stored together, which small ones are cheaper by.

        Parameters
        ----------
        count : int
            Effects that will be put: with the last one, all are stored.
        """
        waiting: dict[str, bytes] = {}

        def put(key: CacheKey, values: Matrix) -> None:
            nonlocal count
            count -= 1
            waiting.update(self._packed(key, values))
            if count == 0 or sum(map(len, waiting.values())) >= _BATCH_BYTES:
                self._ledger.put_bytes(waiting)
                waiting.clear()

        return put

    def _packed(self, key: CacheKey, values: Matrix) -> dict[str, bytes]:
        columns = zip(self._outputs, values.T, strict=True)
        return {self._name(key, output): pack(column) for output, column in columns}

    def _name(self, key: CacheKey, output: str) -> str:
        text = "\n".join((_VERSION, self._identity, output, key.kind, str(key.length)))
        return hashlib.sha256(text.encode()).hexdigest()


def cached(
    ledger: Ledger, identity: bytes, shape: tuple[int, ...], compute: Callable[[], Matrix]
) -> Matrix:
    """Return an array that is no effect of the model, from the cache or computed.

    Parameters
    ----------
    identity : bytes
        All that the array depends on.
    shape : tuple of int
        Of the array.
    """
    cache = EffectCache(ledger, "", [""])
    key = CacheKey(hashlib.sha256(identity).hexdigest(), math.prod(shape))
    values = cache.get([key])[0]
    if values is None:
        values = compute().reshape(-1, 1)
        cache.put(key, values)
    return values.reshape(shape)
