"""What to compute, and what is impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.option_checks import choose, within

_MOST_ROWS_ALONE = 1_000


class Search(Enum):
    """What looks for the weight; see `SwarmOptions.Search` in the contract."""

    EXACT = "EXACT"
    PUBLISHED = "PUBLISHED"
    DIFFERENTIAL_EVOLUTION = "DIFFERENTIAL_EVOLUTION"


class Score(Enum):
    """How well labels are predicted; see `SwarmOptions.Score` in the contract."""

    ACCURACY = "ACCURACY"
    F1 = "F1"
    BALANCED_ACCURACY = "BALANCED_ACCURACY"


class Perturbation(Enum):
    """What is done to values; see `SwarmOptions.Perturbation` in the contract."""

    MULTIPLICATION = "MULTIPLICATION"
    GAUSSIAN = "GAUSSIAN"

    @property
    def neutral(self) -> float:
        """The weight that changes nothing."""
        return 1.0 if self is Perturbation.MULTIPLICATION else 0.0


class ParticleStart(Enum):
    """Where particles start; see `SwarmOptions.Start` in the contract."""

    UNPERTURBED = "UNPERTURBED"
    UNIFORM = "UNIFORM"


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a search goes.

    Attributes
    ----------
    velocity_limit : float
        Largest step of a particle, in weights.
    """

    particle_count: int = 10
    iteration_count: int = 60
    restart_count: int = 1
    velocity_limit: float = 1.0
    start: ParticleStart = ParticleStart.UNPERTURBED


@dataclass(frozen=True, slots=True)
class Motion:
    """How values are moved.

    Attributes
    ----------
    weight_limit : float
        Weights are in [0, weight_limit].
    zero_offset : float
        Added, before they are multiplied, to the values of a feature that has zeros.
    """

    perturbation: Perturbation = Perturbation.MULTIPLICATION
    weight_limit: float = 10.0
    zero_offset: float = 1.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """How finely a result is told.

    Attributes
    ----------
    window_count, point_count : int
        Windows of weights, and most points of a curve.
    sliver_width : float
        Optima that hold for less of the weights are slivers.
    """

    window_count: int = 40
    point_count: int = 1_000
    sliver_width: float = 0.01


@dataclass(frozen=True, slots=True)
class Options:
    """What to compute; see `SwarmOptions` in the contract.

    Attributes
    ----------
    features, classes : tuple of str
        Empty, before `resolve`, for all.
    search : Search or None
        None, before it is chosen: by what the model is.
    score : Score or None
        None with a loss, and before `resolve`.
    loss : Loss or None
        None: labels are scored.
    row_indices : tuple of int
        Rows that are explained each by itself; empty: all rows of a class together.
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


def resolve(options: Options, movable: Sequence[str], row_count: int, path: str) -> Options:
    """Fill in defaults that depend on the table, and refuse what is impossible.

    Parameters
    ----------
    movable : sequence of str
        Features that hold numbers.
    row_count : int
        Of the table.
    """
    if not movable:
        raise ExplainError(
            Reason.WRONG_TYPE, "no feature holds numbers that could be moved", f"{path}.features"
        )
    features = choose(options.features, movable, f"{path}.features")
    if options.score is not None and options.loss is not None:
        raise ExplainError(
            Reason.INVALID_OPTION, "give a score or a loss, not both", f"{path}.score"
        )
    _check_numbers(options, path)
    _check_rows(options.row_indices, row_count, f"{path}.row_indices")
    score = options.score or (Score.ACCURACY if options.loss is None else None)
    return replace(options, features=features, score=score)


def _check_numbers(options: Options, path: str) -> None:
    settings, motion, report = options.search_settings, options.motion, options.resolution
    within(settings.particle_count, 2, 200, f"{path}.particle_count")
    within(settings.iteration_count, 1, 10_000, f"{path}.iteration_count")
    within(settings.restart_count, 1, 1_000, f"{path}.restart_count")
    within(settings.velocity_limit, 1e-9, 1e9, f"{path}.velocity_limit")
    within(motion.zero_offset, -1e9, 1e9, f"{path}.zero_offset")
    within(report.window_count, 1, 1_000, f"{path}.window_count")
    within(report.point_count, 10, 100_000, f"{path}.point_count")
    within(report.sliver_width, 0, 1_000, f"{path}.sliver_width")
    _check_limit(motion, f"{path}.weight_limit")


def _check_limit(motion: Motion, path: str) -> None:
    neutral = motion.perturbation.neutral
    if motion.weight_limit < neutral:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"weights in [0, {motion.weight_limit:g}] leave out {neutral:g}, which changes nothing "
            f"and is where a search begins; set weight_limit to {neutral:g} or more",
            path,
        )
    within(motion.weight_limit, 1e-9, 1_000, path)


def _check_rows(rows: Sequence[int], row_count: int, path: str) -> None:
    wrong = [row for row in rows if not 0 <= row < row_count]
    if wrong or len(rows) > _MOST_ROWS_ALONE or len(set(rows)) < len(rows):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"row_indices must be at most {_MOST_ROWS_ALONE:,}, none twice, each in "
            f"[0, {row_count - 1}]" + (f"; one is {wrong[0]}" if wrong else ""),
            path,
        )
