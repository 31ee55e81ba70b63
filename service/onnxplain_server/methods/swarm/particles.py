"""Particle swarm optimization over weights (Algorithm 1), for several features at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.methods.swarm.options import Motion, ParticleStart, SearchSettings

_CONSTRICTION = 0.729
_ACCELERATION = 2.05
"""Largest acceleration towards a best position, from the authors' program; not in the paper."""


def better(damage: Array, weight: Array, than: Array, at: Array, neutral: float) -> Array:
    """Return whether a position has more damage than another, or as much nearer to neutral.

    Parameters
    ----------
    damage, weight : (n_features,)
        Damage and weight of the position.
    than, at : (n_features,)
        Damage and weight of the other position.
    """
    closer = np.abs(neutral - weight) < np.abs(neutral - at)
    is_better: Array = (damage > than) | ((damage != 0) & (damage == than) & closer)
    return is_better


@dataclass(eq=False)
class Particles:
    """One swarm per feature, for one class.

    Attributes
    ----------
    position, velocity, best : (n_features, n_particles)
        `best` is the position of each particle with most damage so far.
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
        """Start one swarm per random generator, with weights of `dtype`."""
        count, limit = settings.particle_count, settings.velocity_limit
        velocity = np.stack([random.uniform(-limit, limit, count) for random in randoms])
        position = _start(settings.start, motion, velocity.shape, randoms).astype(dtype)
        # Before the first evaluation.
        no_damage = np.full(velocity.shape, -np.inf)
        return cls(position, velocity, position.copy(), no_damage, motion, settings, randoms)

    def step(self, damage: Matrix) -> None:
        """Update bests with the damage of each position, then move the particles.

        Particles move one after the other: each sees the updated best of the neighbour before it,
        and the previous best of the neighbour after it.

        Parameters
        ----------
        damage : (n_features, n_particles)
            At `position`.
        """
        is_first = np.isneginf(self.best_damage)
        self.best_damage = np.where(is_first, damage, self.best_damage)
        own, social = self._accelerations(), self._accelerations()
        for p in range(self.position.shape[1]):
            self._remember(p, damage[:, p])
            guide = self._guide(p)
            position = self.position[:, p].astype(np.float64)
            pull = own[:, p] * (self.best[:, p] - position) + social[:, p] * (guide - position)
            limit = self.settings.velocity_limit
            velocity = (_CONSTRICTION * (self.velocity[:, p] + pull)).clip(-limit, limit)
            self.velocity[:, p] = velocity
            self.position[:, p] = (position + velocity).clip(0, self.motion.weight_limit)

    def _accelerations(self) -> Matrix:
        count = self.settings.particle_count
        return np.stack([random.uniform(0, _ACCELERATION, count) for random in self.randoms])

    def _remember(self, p: int, damage: Array) -> None:
        """Update the best position of a particle."""
        neutral = self.motion.neutral
        position, best = self.position[:, p], self.best[:, p]
        is_better = better(damage, position, self.best_damage[:, p], best, neutral)
        self.best[:, p] = np.where(is_better, position, best)
        self.best_damage[:, p] = np.where(is_better, damage, self.best_damage[:, p])

    def _guide(self, p: int) -> Array:
        """Return the best of a particle's best and those of its two neighbours on the ring."""
        count, neutral = self.position.shape[1], self.motion.neutral
        guide, damage = self.best[:, p].copy(), self.best_damage[:, p].copy()
        for j in ((p - 1) % count, (p + 1) % count):
            is_better = better(self.best_damage[:, j], self.best[:, j], damage, guide, neutral)
            guide = np.where(is_better, self.best[:, j], guide)
            damage = np.where(is_better, self.best_damage[:, j], damage)
        return guide


def _start(
    start: ParticleStart,
    motion: Motion,
    shape: tuple[int, ...],
    randoms: Sequence[np.random.Generator],
) -> Matrix:
    """Return the first weights of particles, one row per random generator."""
    match start:
        case ParticleStart.UNPERTURBED:
            return np.full(shape, motion.neutral)
        case ParticleStart.UNIFORM:
            drawn = [random.uniform(0, motion.weight_limit, shape[1]) for random in randoms]
            return np.stack(drawn)
