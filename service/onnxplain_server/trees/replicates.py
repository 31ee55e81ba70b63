"""Effects under several weights: an engine for each, on the rows that it weighs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.effects.engine import Effects, Joint, Single


class Replicates:
    """Engines for weights, side by side.

    Parameters
    ----------
    effects : Effects
        On the background's own weights.
    weights : (n_replicates, n_rows)
        Rows of weight 0 have no effects; they are left at 0.
    """

    def __init__(self, effects: Effects, weights: Matrix) -> None:
        self.weights = weights
        self._effects = effects
        self._n = len(effects.background)
        self._kept = [np.flatnonzero(replicate) for replicate in weights]
        self._engines = [
            effects.restrict(replace(effects.background.take(rows), weights=replicate[rows]))
            for rows, replicate in zip(self._kept, weights, strict=True)
        ]

    def single(self, features: Sequence[int]) -> Iterator[Single]:
        """As in `Effects.single`, one array for all replicates."""
        self._release([(j,) for j in features])
        for found in zip(*(engine.single(features) for engine in self._engines), strict=True):
            own, others = (
                self._spread([s.own for s in found]),
                self._spread([s.others for s in found]),
            )
            yield Single(found[0].feature, own, others)

    def joint(self, groups: Sequence[tuple[int, ...]]) -> Iterator[Joint]:
        """As in `Effects.joint`, one array for all replicates."""
        self._release(groups)
        for found in zip(*(engine.joint(groups) for engine in self._engines), strict=True):
            whole, pure = (
                self._spread([j.whole for j in found]),
                self._spread([j.pure for j in found]),
            )
            yield Joint(found[0].features, whole, pure)

    def _release(self, groups: Sequence[tuple[int, ...]]) -> None:
        """Take back what was planned for rows that a replicate has not."""
        planned = len(self._engines) * sum(map(self._effects.cost, groups))
        needed = sum(engine.cost(group) for engine in self._engines for group in groups)
        self._effects.release(planned - needed)

    def _spread(self, parts: Sequence[Array]) -> Array:
        """Put the rows of each replicate where they belong: (n_replicates, n_rows, n_outputs)."""
        spread = np.zeros((len(parts), self._n, parts[0].shape[1]))
        rows: Indices
        for replicate, (rows, part) in enumerate(zip(self._kept, parts, strict=True)):
            spread[replicate, rows] = part
        return spread
