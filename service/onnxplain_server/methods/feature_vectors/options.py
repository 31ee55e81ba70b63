"""What to compute, and how trees are had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.feature_vectors.cooccurrence import Rule
from onnxplain_server.methods.option_checks import choose, within

MOST_IN_MATRIX = 2_000
"""Features up to which a matrix of all pairs is returned."""
_MOST_ROWS_OF_PATHS = 10_000


class PathSource(Enum):
    """Whose decision paths are read."""

    MODEL = "MODEL"
    SURROGATE = "SURROGATE"
    LABELS = "LABELS"


@dataclass(frozen=True, slots=True)
class Growth:
    """How a forest is grown where the model's own trees are not used.

    Attributes
    ----------
    sentence_count : int
        Paths, after which no more trees are grown.
    depth : int or None
        Most splits on a path; None: chosen by cross-validation.
    one_hot_target : bool or None
        Whether the target names classes; None: where it is text.
    """

    sentence_count: int = 100_000
    depth: int | None = None
    one_hot_target: bool | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read off the vectors.

    Attributes
    ----------
    importance_floor : float
        Shorter features, as shares of the longest, are in no group and nobody's neighbour.
    group_angle_degrees : float
    neighbor_count : int
    """

    importance_floor: float = 0.05
    group_angle_degrees: float = 10.0
    neighbor_count: int = 3


@dataclass(frozen=True, slots=True)
class Knockoffs:
    """How features are compared with knockoffs; see `KnockoffOptions` in the contract.

    Attributes
    ----------
    component_count : int or None
        Of the mixture of Gaussians; None: chosen by the Bayesian information criterion.
    """

    permutation_count: int = 10_000
    component_count: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What to compute; see `FeatureVectorsOptions` in the contract.

    Attributes
    ----------
    source : PathSource or None
        None, before it is resolved: by what the model is.
    features : tuple of str
        Empty, before `resolve`, for all.
    row_indices : tuple of int
        Rows of the table whose paths count; empty: all paths, once each.
    repeat_count : int
        0: nothing is repeated.
    """

    source: PathSource | None = None
    features: tuple[str, ...] = ()
    rule: Rule = field(default_factory=Rule)
    growth: Growth = field(default_factory=Growth)
    reading: Reading = field(default_factory=Reading)
    dimension_count: int = 2
    row_indices: tuple[int, ...] = ()
    repeat_count: int = 0
    knockoffs: Knockoffs | None = None
    include_cooccurrence: bool = False
    include_similarity: bool = False


def resolve(options: Options, names: Sequence[str], row_count: int, path: str) -> Options:
    """Fill in defaults that depend on features, and refuse what is impossible.

    Parameters
    ----------
    options : Options
        With a source.
    row_count : int
        Of the table; 0 where there is none.
    """
    features = choose(options.features, names, f"{path}.features")
    if len(features) < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{len(features)} feature; vectors tell how features stand to each other, so there "
            "must be at least 2",
            f"{path}.features",
        )
    _check_numbers(options, len(features), path)
    _check_rows(options.row_indices, row_count, f"{path}.row_indices")
    if options.knockoffs is not None:
        _check_knockoffs(options.knockoffs, options.source, f"{path}.knockoffs")
    return replace(options, features=features)


def positions(options: Options, names: Sequence[str]) -> Indices:
    """Give the positions of the features asked for: (n,)."""
    place = {name: position for position, name in enumerate(names)}
    return np.array([place[name] for name in options.features], dtype=np.intp)


def _check_numbers(options: Options, feature_count: int, path: str) -> None:
    rule, growth, reading = options.rule, options.growth, options.reading
    within(rule.window, 2, 64, f"{path}.window")
    within(rule.min_split_count, 0, 1_000, f"{path}.min_split_count")
    within(growth.sentence_count, 100, 10_000_000, f"{path}.sentence_count")
    within(growth.depth or 1, 1, 64, f"{path}.depth")
    within(options.dimension_count, 2, min(100, feature_count), f"{path}.dimension_count")
    within(options.repeat_count, 0, 1_000, f"{path}.repeat_count")
    if options.repeat_count == 1:
        raise ExplainError(
            Reason.INVALID_OPTION, "1 repetition tells no spread", f"{path}.repeat_count"
        )
    within(reading.importance_floor, 0, 1, f"{path}.importance_floor")
    within(reading.group_angle_degrees, 0, 180, f"{path}.group_angle_degrees")
    within(reading.neighbor_count, 0, 100, f"{path}.neighbor_count")
    for name in ("include_cooccurrence", "include_similarity"):
        if getattr(options, name) and feature_count > MOST_IN_MATRIX:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"{feature_count:,} features squared are too many numbers for an answer; "
                f"{name} needs at most {MOST_IN_MATRIX:,} features",
                f"{path}.{name}",
            )


def _check_rows(rows: Sequence[int], row_count: int, path: str) -> None:
    wrong = [row for row in rows if not 0 <= row < row_count]
    if wrong and not row_count:
        raise ExplainError(Reason.INVALID_REQUEST, "row_indices need a table", "table")
    if wrong or len(rows) > _MOST_ROWS_OF_PATHS:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"row_indices must be at most {_MOST_ROWS_OF_PATHS:,}, each in [0, {row_count - 1}]"
            + (f"; one is {wrong[0]}" if wrong else ""),
            path,
        )


def _check_knockoffs(knockoffs: Knockoffs, source: PathSource | None, path: str) -> None:
    if source is PathSource.MODEL:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the model's own trees know no knockoffs; set source to SURROGATE or LABELS",
            path,
        )
    within(knockoffs.permutation_count, 100, 1_000_000, f"{path}.permutation_count")
    within(knockoffs.component_count or 1, 1, 20, f"{path}.component_count")
