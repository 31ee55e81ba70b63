"""Replicates: effects under several weights, by one engine per replicate on its own rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.effects.engine import Effects, Group, Joint, Single


class ReplicateEngines:
    """One engine per replicate.

    Parameters
    ----------
    effects : Effects
        Engine on the background's own weights.
    weights : (n_replicates, n_rows)
        Effects at rows of weight 0 are 0.
    """

    def __init__(self, effects: Effects, weights: Matrix) -> None:
        self.weights = weights
        self._effects = effects
        self._n = len(effects.background)
        self._rows = [np.flatnonzero(replicate) for replicate in weights]
        self._engines = [
            effects.restrict(replace(effects.background.take(rows), weights=replicate[rows]))
            for rows, replicate in zip(self._rows, weights, strict=True)
        ]

    def single(self, features: Sequence[int]) -> Iterator[Single]:
        """Compute `Effects.single`, one array for all replicates."""
        self._release([(j,) for j in features])
        for singles in zip(*(engine.single(features) for engine in self._engines), strict=True):
            own = self._scatter([single.own for single in singles])
            yield Single(singles[0].feature, own, self._scatter([s.others for s in singles]))

    def own_and_others(self, groups: Sequence[Group]) -> Iterator[tuple[Array, Array]]:
        """Compute `Effects.own_and_others`, likewise."""
        self._release(groups)
        every = (engine.own_and_others(groups) for engine in self._engines)
        for effects in zip(*every, strict=True):
            own, others = map(self._scatter, zip(*effects, strict=True))
            yield own, others

    def wholes(self, groups: Sequence[Group]) -> Iterator[Array]:
        """Compute `Effects.wholes`, likewise."""
        self._release(groups)
        yield from map(
            self._scatter, zip(*(engine.wholes(groups) for engine in self._engines), strict=True)
        )

    def joint(self, groups: Sequence[Group]) -> Iterator[Joint]:
        """Compute `Effects.joint`, one array for all replicates."""
        self._release(groups)
        for joints in zip(*(engine.joint(groups) for engine in self._engines), strict=True):
            whole = self._scatter([joint.whole for joint in joints])
            yield Joint(joints[0].features, whole, self._scatter([j.pure for j in joints]))

    def _release(self, groups: Sequence[tuple[int, ...]]) -> None:
        """Release the plan for rows that a replicate does not have."""
        planned = len(self._engines) * sum(map(self._effects.cost, groups))
        needed = sum(engine.cost(group) for engine in self._engines for group in groups)
        self._effects.release(planned - needed)

    def _scatter(self, parts: Sequence[Array]) -> Array:
        """Scatter the rows of each replicate: (n_replicates, n_rows, n_outputs)."""
        scattered = np.zeros((len(parts), self._n, parts[0].shape[1]))
        rows: Indices
        for replicate, (rows, part) in enumerate(zip(self._rows, parts, strict=True)):
            scattered[replicate, rows] = part
        return scattered
