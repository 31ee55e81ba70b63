"""The methods and their options; names and meanings are the contract's.

What is left out takes the server's default, which comes back in the result's `options`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from onnxplain.columns import to_column
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.partial_dependence_pb2 import FeatureGroup, Grid, PartialDependenceOptions


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

    Examples
    --------
    >>> onnxplain.Interactions(pairwise_feature_count=3)
    """

    features: Sequence[str] = ()
    pairwise_feature_count: int | None = None
    threeway_feature_count: int | None = None
    quantile_bin_count: int | None = None
    absolute_threshold: float | None = None

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        return MethodOptions(
            interactions=InteractionsOptions(
                features=_names(self.features),
                pairwise_feature_count=self.pairwise_feature_count,
                threeway_feature_count=self.threeway_feature_count,
                quantile_bin_count=self.quantile_bin_count,
                absolute_threshold=self.absolute_threshold,
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
    strategy : "UNIFORM" or "QUANTILE", optional
        Equal steps of value, the default, or of rank.
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
    strategy: Literal["UNIFORM", "QUANTILE"] | None = None
    trim_lower: float | None = None
    trim_upper: float | None = None
    grids: Sequence[Any] = ()
    group_column: str = ""
    group_count: int | None = None
    include_missing: bool = False

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        groups = [_group(entry) for entry in _names(self.features)]
        return MethodOptions(
            partial_dependence=PartialDependenceOptions(
                features=[FeatureGroup(names=names) for names in groups],
                grid_size=self.grid_size,
                strategy=self.strategy,
                trim_lower=self.trim_lower,
                trim_upper=self.trim_upper,
                grids=_grids(self.grids, groups),
                group_column=self.group_column,
                group_count=self.group_count,
                include_missing=self.include_missing,
            )
        )


def _names(features: Sequence[Any]) -> Sequence[Any]:
    """Refuse a lone name, whose letters would pass for features."""
    if isinstance(features, str):
        raise TypeError(f"features must be a list; for one feature, [{features!r}]")
    return features


def _group(entry: str | Sequence[str]) -> list[str]:
    return [entry] if isinstance(entry, str) else list(entry)


def _grids(grids: Sequence[Any], groups: Sequence[Sequence[str]]) -> list[Grid]:
    if grids and len(grids) != len(groups):
        raise ValueError(
            f"grids has {len(grids)} entries, but features has {len(groups)}: "
            "give one for each, None where the grid is to be laid"
        )
    return [_grid(grid, names) for grid, names in zip(grids, groups, strict=False)]


def _grid(grid: Any, names: Sequence[str]) -> Grid:
    if grid is None:
        return Grid()
    columns = grid if isinstance(grid, Mapping) else dict.fromkeys(names[:1], grid)
    if set(columns) != set(names):
        raise ValueError(
            f"the grid for {', '.join(names)} must be a mapping with exactly these features"
        )
    return Grid(columns=[to_column(name, columns[name]) for name in names])
