"""Partial dependence: average prediction as a function of one or several features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.contract_limits import PartialDependenceOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.grids import predictions_near, rows_near, sample_values
from onnxplain_server.methods.option_checks import check_limits, choose
from onnxplain_server.methods.resampling import Band, Conclusion, ReplicatedStatistic, Resampling

Strategy: TypeAlias = PartialDependenceOptions.Strategy
"""Placement of grid points for a numeric feature."""


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Options of partial dependence; see `PartialDependenceOptions` in the contract.

    Attributes
    ----------
    features : tuple of tuples of str
        Features to vary: a single one gives a curve, several a surface. Empty, before
        `resolve`: each feature singly.
    grids : tuple, one entry per entry of `features`
        None for an automatic grid; otherwise (n_points,) values by feature. Empty, before
        `resolve`: all automatic.
    """

    features: tuple[tuple[str, ...], ...] = ()
    grids: tuple[Mapping[str, Array] | None, ...] = ()
    grid_size: int = PartialDependenceOptions.grid_size.default
    strategy: Strategy = PartialDependenceOptions.strategy.default
    trim_lower: float = PartialDependenceOptions.trim_lower.default
    trim_upper: float = PartialDependenceOptions.trim_upper.default
    group_column: str = ""
    group_count: int = PartialDependenceOptions.group_count.default
    include_missing: bool = PartialDependenceOptions.include_missing.default
    resampling: Resampling = field(default_factory=Resampling)
    max_outside_share: float = PartialDependenceOptions.max_outside_share.default

    @property
    def are_stepped(self) -> tuple[bool, ...]:
        """Return whether each grid consists of the model's steps; valid after `resolve` only."""
        return tuple(self.strategy is Strategy.STEPS and grid is None for grid in self.grids)


@dataclass(frozen=True, slots=True, eq=False)
class PartialDependenceCurve:
    """Average predictions over one grid.

    Attributes
    ----------
    features : tuple of str
    group : str
        Group of rows averaged over; empty if rows are not grouped.
    grid : tuple of (n_points,) arrays, one per feature
        float64 or str objects.
    values : (n_points, n_outputs)
        Not centred; output unit.
    weight : float
        Total weight of the rows averaged over.
    is_stepped : bool
        Whether the curve is constant between grid points and jumps at the later one.
    lower, upper : (n_points, n_outputs) or None
        Intervals of the values on all rows, where these are from a sample of them.
    band : Band or None
        None without replicates.
    row_weights : (n_points,) or None
        Weights of the rows nearest to each point; None for a table read in blocks.
    predicted_means : (n_points, n_outputs) or None
        Mean predictions of these rows as they are; NaN without rows. None where they cost
        predictions, and for surfaces.
    observed_means : (n_points, n_outputs) or None
        Mean true values of these rows; NaN without rows, and for outputs that the target is not
        compared with. None without a target on the scale of the predictions, and for surfaces.
    outside_shares, outside_share, outside_partner
        See `CurveSupport`; without numbers where rows are too few to tell.
    """

    features: tuple[str, ...]
    group: str
    grid: tuple[Array, ...]
    values: Matrix
    weight: float
    is_stepped: bool = False
    lower: Matrix | None = None
    upper: Matrix | None = None
    row_weights: Vector | None = None
    predicted_means: Matrix | None = None
    observed_means: Matrix | None = None
    outside_shares: Vector | None = None
    outside_share: float | None = None
    outside_partner: str = ""
    band: Band | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GroupDifference:
    """Curve of a group less that of another one, along one grid.

    Attributes
    ----------
    features : tuple of str
    group, reference_group : str
    grid : tuple of (n_points,) arrays, one per feature
    values : (n_points, n_outputs)
    band : Band
    """

    features: tuple[str, ...]
    group: str
    reference_group: str
    grid: tuple[Array, ...]
    values: Matrix
    band: Band


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Curves in request order, each split by ascending group.

    Attributes
    ----------
    output_names : tuple of str
    curves : tuple of PartialDependenceCurve
    samples : mapping of feature to (n,) array
        Sample of the feature's values, for a rug plot under the curves.
    group_column : str
        Empty if rows are not grouped.
    notes : tuple of Note
    confidence_level : float
        Of bands; 0 without replicates.
    differences : tuple of GroupDifference
        Each group less the first one, in the order of the curves; empty without replicates.
    conclusions : tuple of Conclusion
        Slopes, and whether replicates agree.
    replicates : tuple of ReplicatedStatistic
        Where they are kept.
    target_gaps : str
        Why there are no observed means though there is a target, like "3 of 40 rows have no price";
        empty otherwise.
    """

    output_names: tuple[str, ...]
    curves: tuple[PartialDependenceCurve, ...]
    samples: dict[str, Array]
    group_column: str = ""
    notes: tuple[Note, ...] = ()
    confidence_level: float = 0.0
    differences: tuple[GroupDifference, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    replicates: tuple[ReplicatedStatistic, ...] = ()
    target_gaps: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RowGroup:
    """Rows averaged over together: one group, or all rows."""

    group: str
    rows: Background


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in defaults that depend on the features; reject invalid options.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    features = options.features or tuple((name,) for name in names)
    for i, group in enumerate(features):
        choose(group or ("",), names, f"{path}.features[{i}].names")
    if options.grids and len(options.grids) != len(features):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{len(options.grids)} grids for {len(features)} entries of features; give one each",
            f"{path}.grids",
        )
    check_limits(PartialDependenceOptions, options, path)
    check_limits(PartialDependenceOptions, options.resampling, path)
    if options.trim_lower >= options.trim_upper:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"trim_lower {options.trim_lower:g} must be below trim_upper {options.trim_upper:g}",
            f"{path}.trim_lower",
        )
    grids = options.grids or (None,) * len(features)
    for i, (group, grid) in enumerate(zip(features, grids, strict=True)):
        if grid is not None:
            _check_grid(group, grid, f"{path}.grids[{i}]")
    return replace(options, features=features, grids=grids)


def _check_grid(features: tuple[str, ...], grid: Mapping[str, Array], path: str) -> None:
    """Reject an explicit grid that does not match its features."""
    if tuple(grid) != features:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the grid has columns {listed(tuple(grid))} for features {listed(features)}; "
            "both must have the same names in the same order",
            path,
        )
    lengths = {len(values) for values in grid.values()}
    if len(lengths) > 1 or 0 in lengths:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the columns of a grid must have the same number of points, at least one",
            path,
        )


def cost(points: Sequence[tuple[Array, ...]], groups: Sequence[RowGroup]) -> int:
    """Return an upper bound of the number of rows to predict."""
    return sum(len(group.rows) for group in groups) * sum(len(grid[0]) for grid in points)


def compute(
    effects: Effects,
    options: Options,
    points: Sequence[tuple[Array, ...]],
    groups: Sequence[RowGroup],
) -> Result:
    """Compute the curve over each grid, for each group of rows.

    Parameters
    ----------
    points : one grid per entry of `options.features`
    """
    requests = []
    for names, grid in zip(options.features, points, strict=True):
        features = effects.background.features
        positions = [features.index(name) for name in names]
        cast = [features.cast(j, values) for j, values in zip(positions, grid, strict=True)]
        requests.append((positions, cast))
    averages = (effects.restrict(group.rows).curves(requests) for group in groups)
    return averaged(effects, options, points, groups, averages)


def averaged(
    effects: Effects,
    options: Options,
    points: Sequence[tuple[Array, ...]],
    groups: Sequence[RowGroup],
    averages: Iterable[Iterable[Matrix]],
) -> Result:
    """Present averages by groups, each by entries: (n_points, n_outputs)."""
    by_group = [
        _curves(effects.restrict(group.rows), options, points, group.group, own)
        for group, own in zip(groups, averages, strict=True)
    ]
    curves = [curve for same_grid in zip(*by_group, strict=True) for curve in same_grid]
    varied = {name for names in options.features for name in names}
    samples = sample_values(effects.background.features, varied)
    return Result(effects.output_names, tuple(curves), samples, options.group_column)


def _curves(
    effects: Effects,
    options: Options,
    points: Sequence[tuple[Array, ...]],
    group: str,
    averages: Iterable[Matrix],
) -> Iterator[PartialDependenceCurve]:
    """Yield the curve of each entry of `options.features`, averaged over the rows of a group."""
    rows = effects.background
    for names, grid, values, is_stepped in zip(
        options.features, points, averages, options.are_stepped, strict=True
    ):
        near = rows_near(rows, names, grid, is_stepped=is_stepped)
        yield PartialDependenceCurve(
            names,
            group,
            grid,
            values,
            rows.weight(),
            is_stepped,
            row_weights=rows.case_weights(near),
            predicted_means=predictions_near(effects, names, grid, near, is_stepped=is_stepped),
        )
