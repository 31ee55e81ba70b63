"""Options of feature vectors: source of paths, counting, growth of forests, and reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.contract_limits import FeatureVectorsOptions, KnockoffOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.limits import within
from onnxplain_server.methods.feature_vectors.cooccurrence import Rule
from onnxplain_server.methods.option_checks import (
    check_grouping,
    check_groups,
    check_limits,
    choose,
    players,
)

MOST_IN_MATRIX = 2_000
"""Features up to which a matrix of all pairs is returned."""


PathSource: TypeAlias = FeatureVectorsOptions.Source
"""Source of decision paths."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth of a surrogate forest.

    Attributes
    ----------
    sentence_count : int
        Number of paths at which growing stops.
    depth : int or None
        Maximum number of splits on a path; None: chosen by cross-validation.
    one_hot_target : bool or None
        Whether the target names classes; None: where it is text.
    """

    sentence_count: int = FeatureVectorsOptions.sentence_count.default
    depth: int | None = None
    one_hot_target: bool | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """Settings of groups and neighbours.

    Attributes
    ----------
    importance_floor : float
        Least length, relative to the longest, of features in groups and among neighbours.
    group_angle_degrees : float
    neighbor_count : int
    """

    importance_floor: float = FeatureVectorsOptions.importance_floor.default
    group_angle_degrees: float = FeatureVectorsOptions.group_angle_degrees.default
    neighbor_count: int = FeatureVectorsOptions.neighbor_count.default


@dataclass(frozen=True, slots=True)
class Knockoffs:
    """Settings of the knockoff test; see `KnockoffOptions` in the contract.

    Attributes
    ----------
    component_count : int or None
        Components of the mixture of Gaussians; None: chosen by the Bayesian information
        criterion.
    """

    permutation_count: int = KnockoffOptions.permutation_count.default
    component_count: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """Options of feature vectors; see `FeatureVectorsOptions` in the contract.

    Attributes
    ----------
    source : PathSource or None
        None, before it is chosen by the kind of model.
    features : tuple of str
        Empty, before `resolve`, for all.
    row_indices : tuple of int
        Rows of the table whose paths count; empty: all paths count once.
    repeat_count : int
        Repetitions with other trees; 0: none.
    groups : tuple of tuples of str
        Features that count as one.
    """

    source: PathSource | None = None
    features: tuple[str, ...] = ()
    rule: Rule = field(default_factory=Rule)
    growth: Growth = field(default_factory=Growth)
    reading: Reading = field(default_factory=Reading)
    dimension_count: int = FeatureVectorsOptions.dimension_count.default
    row_indices: tuple[int, ...] = ()
    repeat_count: int = FeatureVectorsOptions.repeat_count.default
    knockoffs: Knockoffs | None = None
    include_cooccurrence: bool = FeatureVectorsOptions.include_cooccurrence.default
    include_similarity: bool = FeatureVectorsOptions.include_similarity.default
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def players(self) -> dict[str, tuple[str, ...]]:
        """Features that count as one, by the name of the feature or group; once resolved."""
        return players(self.features, self.groups)

    @property
    def grows_forest(self) -> bool:
        """Return whether a forest is grown, and the model's trees are not read; needs a source."""
        match self.source:
            case PathSource.SURROGATE | PathSource.LABELS | None:
                return True
            case PathSource.MODEL:
                return False


def resolve(options: Options, names: Sequence[str], row_count: int, path: str) -> Options:
    """Fill in defaults that depend on features; reject invalid options.

    Parameters
    ----------
    options : Options
        With `source` set.
    row_count : int
        Rows of the table; 0 without a table.
    """
    features = choose(options.features, names, f"{path}.features")
    groups = check_groups(options.groups, names, f"{path}.groups")
    check_grouping(features, groups, names, f"{path}.groups")
    options = replace(options, features=features, groups=groups)
    count = len(options.players)
    if count < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{count} feature; vectors compare features, of which a group counts as one, so there "
            "must be at least 2",
            f"{path}.groups" if groups else f"{path}.features",
        )
    _check_numbers(options, count, path)
    _check_rows(options.row_indices, row_count, f"{path}.row_indices")
    if options.knockoffs is not None:
        _check_knockoffs(options, options.knockoffs, f"{path}.knockoffs")
    return options


def positions(options: Options, names: Sequence[str]) -> Indices:
    """Return the positions of the requested features: (n,)."""
    place = {name: position for position, name in enumerate(names)}
    return np.array([place[name] for name in options.features], dtype=np.intp)


def player_numbers(options: Options) -> Indices:
    """Return the number of the feature or group that each requested feature counts as: (n,)."""
    place = {name: i for i, members in enumerate(options.players.values()) for name in members}
    return np.array([place[name] for name in options.features], dtype=np.intp)


def _check_numbers(options: Options, feature_count: int, path: str) -> None:
    dimensions = FeatureVectorsOptions.dimension_count
    dimensions = replace(dimensions, max=min(dimensions.max, feature_count))
    within(options.dimension_count, dimensions, f"{path}.dimension_count")
    if options.repeat_count == 1:
        raise ExplainError(
            Reason.INVALID_OPTION, "1 repetition tells no spread", f"{path}.repeat_count"
        )
    check_limits(FeatureVectorsOptions, options, path)
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
    limit = FeatureVectorsOptions.row_indices.max_items
    if wrong or len(rows) > limit:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"row_indices must be at most {limit:,}, each in [0, {row_count - 1}]"
            + (f"; one is {wrong[0]}" if wrong else ""),
            path,
        )


def _check_knockoffs(options: Options, knockoffs: Knockoffs, path: str) -> None:
    if not options.grows_forest:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the model's own trees have no splits on knockoffs; set source to SURROGATE or LABELS",
            path,
        )
    if options.groups:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "knockoffs are of single columns; leave groups or knockoffs out",
            path,
        )
    check_limits(KnockoffOptions, knockoffs, path)
