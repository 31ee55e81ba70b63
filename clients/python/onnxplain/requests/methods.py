"""The methods and their options; names and meanings are the contract's.

What is left out takes the server's default, which comes back in the result's `options`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from onnxplain.requests.forms import to_grids, to_groups, to_names
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions

Strategy: TypeAlias = Literal["UNIFORM", "QUANTILE", "STEPS"]
"""How a grid is laid: in equal steps of value, or of rank, or at the steps of a tree ensemble."""


class Method(Protocol):
    """One method with its options."""

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interactions:
    """Friedman and Popescu's statistics: which features act together, and how strongly.

    About n · n predictions per feature and again per pair and triple, n being the rows used.

    Attributes
    ----------
    features : sequence of str
        Features to consider, at least 2. Default: all.
    pairwise_feature_count : int, optional
        How many features, those that interact most, to pair up; in [0, 100], default 5.
    threeway_feature_count : int, optional
        How many of those to combine in triples; in [0, 50], default 0.
    quantile_bin_count : int, optional
        Replace dense numeric features by so many quantile bins; 0 turns it off, the default.
    absolute_threshold : float, optional
        Numerators below it count as exactly 0; squared unit of the output. Default: relative
        to the predictions.
    repeat_count : int, optional
        How often to resample the rows, for standard errors and intervals, at no further
        prediction; 0 turns it off, the default, otherwise in [10, 10000].
    resampling : "BOOTSTRAP" or "JACKKNIFE", optional
        Rows drawn with replacement, the default, or groups of rows left out in turn.
    confidence_level : float, optional
        How often intervals should hold the statistic of all rows that the table is a sample
        of; in [0.5, 0.999], default 0.95.
    permutation_count : int, optional
        How often to permute each term over the rows, to test whether it explains the target,
        for p-values, at no further prediction; 0 turns it off, the default, at most 100,000.
        Needs a target, and rows that the model was not trained on.
    knot_count : int, optional
        Evaluate dense numeric features at so many knots, and interpolate between them;
        the results estimate the error. 0 turns it off, the default, otherwise in [3, 10000].

    Examples
    --------
    >>> onnxplain.Interactions(pairwise_feature_count=3)
    """

    features: Sequence[str] = ()
    pairwise_feature_count: int | None = None
    threeway_feature_count: int | None = None
    quantile_bin_count: int | None = None
    absolute_threshold: float | None = None
    repeat_count: int | None = None
    resampling: Literal["BOOTSTRAP", "JACKKNIFE"] | None = None
    confidence_level: float | None = None
    permutation_count: int | None = None
    knot_count: int | None = None

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        return MethodOptions(
            interactions=InteractionsOptions(
                features=to_names(self.features),
                pairwise_feature_count=self.pairwise_feature_count,
                threeway_feature_count=self.threeway_feature_count,
                quantile_bin_count=self.quantile_bin_count,
                absolute_threshold=self.absolute_threshold,
                repeat_count=self.repeat_count,
                resampling=self.resampling,
                confidence_level=self.confidence_level,
                permutation_count=self.permutation_count,
                knot_count=self.knot_count,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartialDependence:
    """How the average prediction changes with one feature, or with several together.

    Grid points times rows predictions per curve.

    Attributes
    ----------
    features : sequence of str or of several str
        What to vary: "age" gives a curve, ("age", "bmi") a surface. Default: every feature.
    grid_size : int, optional
        Number of grid points; of several features together, about this many. Default 49.
    strategy : "UNIFORM", "QUANTILE" or "STEPS", optional
        Equal steps of value, the default, or of rank; or, of tree ensembles, a point for every
        step of the model, so that nothing changes between two points.
    trim_lower, trim_upper : float, optional
        Quantiles between which grids are laid. Default 0.01 and 0.99.
    grids : sequence, one entry per entry of `features`
        Explicit grids: values for one feature; a mapping of feature to values for several,
        where the i-th values together are the i-th point; None for a laid grid.
    group_column : str
        One curve for each group of rows by this column's values.
    group_count : int, optional
        A numeric `group_column` with more values is cut into so many groups. Default 4.
    include_missing : bool
        Whether a feature with missing values is also evaluated at "missing".

    Examples
    --------
    >>> onnxplain.PartialDependence(features=["age", ("age", "bmi")], grid_size=30)
    """

    features: Sequence[str | Sequence[str]] = ()
    grid_size: int | None = None
    strategy: Strategy | None = None
    trim_lower: float | None = None
    trim_upper: float | None = None
    grids: Sequence[Any] = ()
    group_column: str = ""
    group_count: int | None = None
    include_missing: bool = False

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        groups = to_groups(self.features)
        return MethodOptions(
            partial_dependence=PartialDependenceOptions(
                features=groups,
                grid_size=self.grid_size,
                strategy=self.strategy,
                trim_lower=self.trim_lower,
                trim_upper=self.trim_upper,
                grids=to_grids(self.grids, groups),
                group_column=self.group_column,
                group_count=self.group_count,
                include_missing=self.include_missing,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndividualConditionalExpectation:
    """How the prediction of single rows changes with a feature, or with several together.

    Grid points times `curve_count` predictions per entry of `features` and `joint_features`.

    Attributes
    ----------
    features : sequence of str
        Features to vary, one at a time. Default: all where `joint_features` is empty too,
        otherwise none.
    grid_size : int, optional
        Number of grid points; of several features together, about this many. Default 49.
    strategy : "UNIFORM", "QUANTILE" or "STEPS", optional
        Equal steps of value, the default, or of rank; or, of tree ensembles, a point for every
        step of the model, so that nothing changes between two points.
    trim_lower, trim_upper : float, optional
        Quantiles between which grids are laid. Default 0.01 and 0.99.
    grids : sequence, one entry per entry of `features`, then of `joint_features`
        Explicit grids, of several features as a mapping; None for a laid one.
    include_missing : bool
        Whether a feature with missing values is also evaluated at "missing".
    curve_count : int, optional
        How many of the rows get a curve; in [1, 10000], default 100.
    group_columns : sequence of str
        Columns that tell curves apart in plots: the first by colour, the second by panels.
    group_count : int, optional
        A numeric group column with more values is cut into so many groups. Default 4.
    centered : bool
        Whether each curve is shifted to 0 at the middle of the grid, to compare shapes.
    joint_features : sequence of sequence of str
        Features to vary together, two or more per entry; their curves come last, and are not
        drawn in plots.

    Examples
    --------
    >>> onnxplain.IndividualConditionalExpectation(features=["age"], centered=True)
    """

    features: Sequence[str] = ()
    grid_size: int | None = None
    strategy: Strategy | None = None
    trim_lower: float | None = None
    trim_upper: float | None = None
    grids: Sequence[Any] = ()
    include_missing: bool = False
    curve_count: int | None = None
    group_columns: Sequence[str] = ()
    group_count: int | None = None
    centered: bool = False
    joint_features: Sequence[Sequence[str]] = ()

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        together = to_groups(self.joint_features, "joint_features")
        return MethodOptions(
            individual_conditional_expectation=IndividualConditionalExpectationOptions(
                features=to_names(self.features),
                joint_features=together,
                grid_size=self.grid_size,
                strategy=self.strategy,
                trim_lower=self.trim_lower,
                trim_upper=self.trim_upper,
                grids=to_grids(self.grids, [*to_groups(self.features), *together]),
                include_missing=self.include_missing,
                curve_count=self.curve_count,
                group_columns=to_names(self.group_columns, "group_columns"),
                group_count=self.group_count,
                centered=self.centered,
            )
        )
