"""Options of the swarm: search, movement of values, and resolution of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from onnxplain_server.core.contract_limits import SwarmOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.losses import Loss, LossParameters
from onnxplain_server.methods.option_checks import (
    check_grouping,
    check_groups,
    check_limits,
    check_row_indices,
    choose,
    players,
)

Search: TypeAlias = SwarmOptions.Search
"""Search for the weight."""

Score: TypeAlias = SwarmOptions.Score
"""Score of predicted labels."""

Perturbation: TypeAlias = SwarmOptions.Perturbation
"""Perturbation of values."""

ParticleStart: TypeAlias = SwarmOptions.Start
"""Start of particles."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of a search by trial.

    Attributes
    ----------
    velocity_limit : float
        Largest step of a particle, in weights.
    """

    particle_count: int = SwarmOptions.particle_count.default
    iteration_count: int = SwarmOptions.iteration_count.default
    restart_count: int = SwarmOptions.restart_count.default
    velocity_limit: float = SwarmOptions.velocity_limit.default
    start: ParticleStart = SwarmOptions.start.default

    @property
    def starts_neutral(self) -> bool:
        """Start of all particles at the neutral weight, whose predictions are known."""
        return self.start is ParticleStart.UNPERTURBED


@dataclass(frozen=True, slots=True)
class Motion:
    """Movement of values by a weight.

    Attributes
    ----------
    weight_limit : float
        Weights are in [0, weight_limit].
    zero_offset : float
        Added to the values of a feature that contains zeros before multiplication.
    """

    perturbation: Perturbation = SwarmOptions.perturbation.default
    weight_limit: float = SwarmOptions.weight_limit.default
    zero_offset: float = SwarmOptions.zero_offset.default

    @property
    def neutral(self) -> float:
        """Weight that changes nothing."""
        match self.perturbation:
            case Perturbation.MULTIPLICATION:
                return 1.0
            case Perturbation.GAUSSIAN:
                return 0.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """Resolution of a result.

    Attributes
    ----------
    window_count, point_count : int
        Number of windows of weights, and maximum number of points of a curve.
    sliver_width : float
        Optima over a shorter range of weights are slivers, not stable.
    """

    window_count: int = SwarmOptions.window_count.default
    point_count: int = SwarmOptions.point_count.default
    sliver_width: float = SwarmOptions.sliver_width.default


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the swarm; see `SwarmOptions` in the contract.

    Attributes
    ----------
    features, classes : tuple of str
        Empty, before `resolve`, for all.
    search : Search or None
        None, before it is chosen by the kind of model.
    score : Score or None
        None with a loss, and before `resolve`.
    loss : Loss or None
        None: score labels, or use `loss_expression`.
    loss_expression : str
        Empty for none.
    parameters : LossParameters
        Of the loss.
    row_indices : tuple of int
        Rows each explained by itself; empty: all rows of a class together.
    groups : tuple of tuples of str
        Features moved by one weight.
    """

    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    search: Search | None = None
    score: Score | None = None
    loss: Loss | None = None
    target_columns: tuple[str, ...] = ()
    search_settings: SearchSettings = field(default_factory=SearchSettings)
    motion: Motion = field(default_factory=Motion)
    resolution: Resolution = field(default_factory=Resolution)
    row_indices: tuple[int, ...] = ()
    loss_expression: str = ""
    parameters: LossParameters = field(default_factory=LossParameters)
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def players(self) -> dict[str, tuple[str, ...]]:
        """Features that are moved together, by the name of the feature or group; once resolved."""
        return players(self.features, self.groups)

    @property
    def measure(self) -> Loss | str | None:
        """The loss or its expression; None where labels are scored."""
        return self.loss_expression or self.loss


def resolve(options: Options, movable: Sequence[str], row_count: int, path: str) -> Options:
    """Fill in defaults that depend on the table; reject invalid options.

    Parameters
    ----------
    movable : sequence of str
        Numeric features.
    row_count : int
        Rows of the table.
    """
    if not movable:
        raise ExplainError(
            Reason.WRONG_TYPE, "no feature is numeric, so none can be moved", f"{path}.features"
        )
    features = choose(options.features, movable, f"{path}.features")
    groups = check_groups(options.groups, movable, f"{path}.groups")
    check_grouping(features, groups, movable, f"{path}.groups")
    if options.score is not None and options.measure is not None:
        raise ExplainError(
            Reason.INVALID_OPTION, "give a score or a loss, not both", f"{path}.score"
        )
    _check_neutral(options.motion, f"{path}.weight_limit")
    check_limits(SwarmOptions, options, path)
    check_row_indices(
        options.row_indices, row_count, SwarmOptions.row_indices, f"{path}.row_indices"
    )
    score = options.score or (Score.ACCURACY if options.measure is None else None)
    return replace(options, features=features, score=score, groups=groups)


def _check_neutral(motion: Motion, path: str) -> None:
    neutral = motion.neutral
    if motion.weight_limit < neutral:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"weights in [0, {motion.weight_limit:g}] exclude the neutral weight {neutral:g}, "
            f"where a search begins; set weight_limit to {neutral:g} or more",
            path,
        )
