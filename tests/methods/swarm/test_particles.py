"""One step of the swarm, worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.swarm.options import (
    Motion,
    ParticleStart,
    Perturbation,
    SearchSettings,
)
from onnxplain_server.methods.swarm.particles import Particles, better


class Constant:
    """Draws the same number always."""

    def __init__(self, value: float) -> None:
        self.value = value

    def uniform(self, _low: float, _high: float, count: int):
        return np.full(count, self.value)


def swarm(position, velocity, pull: float = 1.0, **settings) -> Particles:
    """One feature's swarm; every pull is the same."""
    randoms: Any = [Constant(pull)]
    made = Particles.begin(
        Motion(), SearchSettings(particle_count=len(position), **settings), randoms, np.float64
    )
    made.position[:] = position
    made.best[:] = position
    made.velocity[:] = velocity
    return made


def is_better(damage: float, weight: float, than: float, at: float, neutral: float = 1.0) -> bool:
    numbers = np.array([damage, weight, than, at])
    return bool(better(numbers[0], numbers[1], numbers[2], numbers[3], neutral))


def test_more_harm_is_better_however_far() -> None:
    assert is_better(0.5, 9.0, 0.4, 1.1)
    assert not is_better(0.4, 1.1, 0.5, 9.0)


def test_of_equal_harm_the_weight_closer_to_no_change_is_better() -> None:
    assert is_better(0.5, 1.2, 0.5, 0.7)
    assert not is_better(0.5, 0.7, 0.5, 1.2)
    assert not is_better(0.5, 1.2, 0.5, 0.8)


def test_closeness_does_not_count_where_there_is_no_harm() -> None:
    assert not is_better(0.0, 1.1, 0.0, 3.0)


def test_closeness_is_to_zero_where_zero_changes_nothing() -> None:
    assert is_better(0.5, 0.2, 0.5, 1.0, neutral=0.0)


def test_particles_start_unperturbed_with_velocities_within_the_limit() -> None:
    random = np.random.default_rng(0)
    made = Particles.begin(
        Motion(), SearchSettings(particle_count=50, velocity_limit=0.5), [random], np.float32
    )

    assert (made.position == 1).all()
    assert made.position.dtype == np.float32
    assert np.abs(made.velocity).max() <= 0.5
    assert np.abs(made.velocity).max() > 0.4


def test_particles_can_start_anywhere() -> None:
    settings = SearchSettings(particle_count=200, start=ParticleStart.UNIFORM)
    made = Particles.begin(
        Motion(weight_limit=4.0), settings, [np.random.default_rng(0)], np.float32
    )

    assert (made.position.min() < 0.2, made.position.max() > 3.8) == (True, True)
    assert made.position.max() <= 4


def test_gaussian_particles_start_at_zero() -> None:
    motion = Motion(Perturbation.GAUSSIAN)

    made = Particles.begin(motion, SearchSettings(), [np.random.default_rng(0)], np.float32)

    assert (made.position == 0).all()


def test_a_step_pulls_towards_the_own_best_and_the_best_neighbour() -> None:
    """Weights 1, 2, 3, 4 do harm 0, .1, .2, .3; on the ring 0 sees 1 and 3, and 2 sees 1 and 3.

    Own bests are where the particles are, so only the neighbour pulls: 0.729 · (0 + 1 · distance).
    """
    made = swarm([1.0, 2.0, 3.0, 4.0], 0.0, velocity_limit=10.0)

    made.step(np.array([[0.0, 0.1, 0.2, 0.3]]))

    assert made.position[0].tolist() == pytest.approx(
        [1 + 0.729 * 3, 2 + 0.729 * 1, 3 + 0.729 * 1, 4.0]
    )


def test_the_particle_opposite_on_the_ring_does_not_pull() -> None:
    made = swarm([1.0, 1.0, 5.0, 1.0], 0.0, velocity_limit=10.0)

    made.step(np.array([[0.0, 0.0, 0.9, 0.0]]))

    assert made.position[0].tolist() == pytest.approx([1.0, 1 + 0.729 * 4, 5.0, 1 + 0.729 * 4])


def test_particles_take_turns() -> None:
    """Both ends have found something new: 1 has seen 0's, whose turn is over, but not 2's."""
    made = swarm([2.0, 1.0, 3.0, 1.0], 0.0, velocity_limit=10.0)
    made.best[:] = 1.0
    made.best_damage[:] = 0.1

    made.step(np.array([[0.2, 0.1, 0.9, 0.1]]))

    assert made.position[0, 1] == pytest.approx(1 + 0.729 * 1.0)
    assert made.position[0, 3] == pytest.approx(1 + 0.729 * 2.0)


def test_the_velocity_before_is_kept_in_part() -> None:
    made = swarm([1.0, 1.0], [[0.5, -0.5]])

    made.step(np.array([[0.1, 0.1]]))

    assert made.velocity[0].tolist() == pytest.approx([0.3645, -0.3645])
    assert made.position[0].tolist() == pytest.approx([1.3645, 0.6355])


def test_velocities_and_positions_are_clipped() -> None:
    made = swarm([0.2, 9.9, 5.0], [[-1.0, 1.0, 0.0]], velocity_limit=0.6)

    made.step(np.array([[0.1, 0.1, 0.9]]))

    assert made.velocity[0].tolist() == pytest.approx([0.6, -0.6, 0.0])
    made = swarm([0.2, 9.9], [[-1.0, 1.0]], pull=0.0)
    made.step(np.array([[0.1, 0.1]]))
    assert made.position[0].tolist() == [0.0, 10.0]


def test_a_best_is_kept_when_the_next_position_is_worse() -> None:
    made = swarm([2.0, 2.0], 0.0)
    made.step(np.array([[0.5, 0.5]]))
    made.position[:] = 7.0

    made.step(np.array([[0.4, 0.6]]))

    assert made.best[0].tolist() == [2.0, 7.0]
    assert made.best_damage[0].tolist() == [0.5, 0.6]


def test_two_particles_are_each_others_only_neighbour() -> None:
    made = swarm([1.0, 3.0], 0.0, velocity_limit=10.0)

    made.step(np.array([[0.1, 0.9]]))

    assert made.position[0].tolist() == pytest.approx([1 + 0.729 * 2, 3.0])
