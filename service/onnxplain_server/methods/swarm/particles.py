"""Particles on a line of weights, as published (Algorithm 1), for several features at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.methods.swarm.options import Motion, ParticleStart, SearchSettings

_CONSTRICTION = 0.729
_PULL = 2.05
"""Largest pull towards a best position, as in the authors' program; the paper gives none."""


def better(damage: Array, weight: Array, than: Array, at: Array, neutral: float) -> Array:
    """Whether a position does more harm than another, or as much closer to no change.

    Parameters
    ----------
    damage, weight : (n_features,)
        Of the position.
    than, at : (n_features,)
        Damage and weight of the other.
    """
    closer = np.abs(neutral - weight) < np.abs(neutral - at)
    is_better: Array = (damage > than) | ((damage != 0) & (damage == than) & closer)
    return is_better


@dataclass(eq=False)
class Particles:
    """A swarm for each feature, all of one class.

    Attributes
    ----------
    position, velocity, best : (n_features, n_particles)
        `best` is where each particle did most harm so far.
    best_damage : (n_features, n_particles)
    """

    position: Array
    velocity: Matrix
    best: Array
    best_damage: Matrix
    motion: Motion
    settings: SearchSettings
    randoms: Sequence[np.random.Generator]

    @classmethod
    def begin(
        cls,
        motion: Motion,
        settings: SearchSettings,
        randoms: Sequence[np.random.Generator],
        dtype: npt.DTypeLike,
    ) -> Particles:
        """Start a swarm for each of the random generators; weights are of a type."""
        count, limit = settings.particle_count, settings.velocity_limit
        velocity = np.stack([random.uniform(-limit, limit, count) for random in randoms])
        position = np.full(velocity.shape, motion.perturbation.neutral, dtype)
        if settings.start is ParticleStart.UNIFORM:
            drawn = [random.uniform(0, motion.weight_limit, count) for random in randoms]
            position = np.stack(drawn).astype(dtype)
        # Until the first look.
        nothing = np.full(velocity.shape, -np.inf)
        return cls(position, velocity, position.copy(), nothing, motion, settings, randoms)

    def step(self, damage: Matrix) -> None:
        """Learn how much harm each position does, and move on.

        Particles take turns: each looks at the bests of its neighbours, of which the one before
        it has had its turn already, and the one after it has not.

        Parameters
        ----------
        damage : (n_features, n_particles)
            At `position`.
        """
        fresh = np.isneginf(self.best_damage)
        self.best_damage = np.where(fresh, damage, self.best_damage)
        own, social = self._pulls(), self._pulls()
        for p in range(self.position.shape[1]):
            self._remember(p, damage[:, p])
            guide = self._guide(p)
            here = self.position[:, p].astype(np.float64)
            pull = own[:, p] * (self.best[:, p] - here) + social[:, p] * (guide - here)
            limit = self.settings.velocity_limit
            velocity = (_CONSTRICTION * (self.velocity[:, p] + pull)).clip(-limit, limit)
            self.velocity[:, p] = velocity
            self.position[:, p] = (here + velocity).clip(0, self.motion.weight_limit)

    def _pulls(self) -> Matrix:
        count = self.settings.particle_count
        return np.stack([random.uniform(0, _PULL, count) for random in self.randoms])

    def _remember(self, p: int, damage: Array) -> None:
        """Keep a particle's position where it is its best."""
        neutral = self.motion.perturbation.neutral
        here, best = self.position[:, p], self.best[:, p]
        found = better(damage, here, self.best_damage[:, p], best, neutral)
        self.best[:, p] = np.where(found, here, best)
        self.best_damage[:, p] = np.where(found, damage, self.best_damage[:, p])

    def _guide(self, p: int) -> Array:
        """The best of a particle's best and those of its two neighbours on the ring."""
        count, neutral = self.position.shape[1], self.motion.perturbation.neutral
        guide, damage = self.best[:, p].copy(), self.best_damage[:, p].copy()
        for j in ((p - 1) % count, (p + 1) % count):
            found = better(self.best_damage[:, j], self.best[:, j], damage, guide, neutral)
            guide = np.where(found, self.best[:, j], guide)
            damage = np.where(found, self.best_damage[:, j], damage)
        return guide
