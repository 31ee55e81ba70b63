"""Names of effects in the cache: everything an effect depends on, and nothing else."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.effects.ledger import Ledger

_VERSION = "1"
"""Of the numbers: raised when the same question would get other ones."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """An effect of a model on given rows.

    Attributes
    ----------
    kind : str
        Which effect, of which features, at which points.
    length : int
        Number of rows or points.
    """

    kind: str
    length: int


class EffectCache:
    """Where effects of one model on one background lie; one array per output.

    Parameters
    ----------
    ledger : Ledger
    identity : str
        What the effects depend on beside the outputs: scale, rows and weights.
    outputs : sequence of str
        Identities of the outputs.
    """

    def __init__(self, ledger: Ledger, identity: str, outputs: Sequence[str]) -> None:
        self._ledger = ledger
        self._identity = identity
        self._outputs = outputs

    def find(self, labels: Sequence[CacheKey]) -> list[Matrix | None]:
        """Look effects up in one round trip: (length, n_outputs), or None where one is absent."""
        names = [[self._name(label, output) for output in self._outputs] for label in labels]
        found = self._ledger.recall(names, [(label.length,) for label in labels])
        return [None if arrays is None else np.stack(arrays, axis=1) for arrays in found]

    def keep(self, label: CacheKey, values: Matrix) -> None:
        """Offer an effect, (length, n_outputs), to the cache."""
        named = zip(self._outputs, values.T, strict=True)
        self._ledger.remember({self._name(label, output): column for output, column in named})

    def _name(self, label: CacheKey, output: str) -> str:
        key = "\n".join((_VERSION, self._identity, output, label.kind, str(label.length)))
        return hashlib.sha256(key.encode()).hexdigest()


def cached(
    ledger: Ledger, question: bytes, shape: tuple[int, ...], compute: Callable[[], Matrix]
) -> Matrix:
    """Give numbers that are no effect of the model, from the cache or computed.

    Parameters
    ----------
    question : bytes
        All that they depend on.
    shape : tuple of int
        Theirs.
    """
    cache = EffectCache(ledger, "", [""])
    label = CacheKey(hashlib.sha256(question).hexdigest(), math.prod(shape))
    found = cache.find([label])[0]
    if found is None:
        found = compute().reshape(-1, 1)
        cache.keep(label, found)
    return found.reshape(shape)
