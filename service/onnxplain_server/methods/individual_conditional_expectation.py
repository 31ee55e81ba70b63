"""Individual conditional expectation (ICE): prediction curves of single rows over features.

Goldstein, Kapelner, Bleich and Pitkin (2015), "Peeking Inside the Black Box",
Journal of Computational and Graphical Statistics 24(1), 44-65.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onnxplain_server.core.arrays import Array, Cube, Indices
from onnxplain_server.core.contract_limits import IndividualConditionalExpectationOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.option_checks import check_limits, check_row_indices, choose
from onnxplain_server.methods.partial_dependence import Strategy


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Options of ICE; see `IndividualConditionalExpectationOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        Features to vary singly. Empty, before `resolve`: all, if `joint_features` is empty.
    joint_features : tuple of tuples of str
        Features to vary together.
    grids : tuple, one entry per entry of `features`, then of `joint_features`
        As in partial dependence.
    row_indices : tuple of int
        Rows of the table; empty: rows are drawn.
    """

    features: tuple[str, ...] = ()
    joint_features: tuple[tuple[str, ...], ...] = ()
    grids: tuple[Mapping[str, Array] | None, ...] = ()
    grid_size: int = IndividualConditionalExpectationOptions.grid_size.default
    strategy: Strategy = IndividualConditionalExpectationOptions.strategy.default
    trim_lower: float = IndividualConditionalExpectationOptions.trim_lower.default
    trim_upper: float = IndividualConditionalExpectationOptions.trim_upper.default
    include_missing: bool = IndividualConditionalExpectationOptions.include_missing.default
    curve_count: int = IndividualConditionalExpectationOptions.curve_count.default
    group_columns: tuple[str, ...] = ()
    group_count: int = IndividualConditionalExpectationOptions.group_count.default
    centered: bool = IndividualConditionalExpectationOptions.centered.default
    row_indices: tuple[int, ...] = ()

    @property
    def as_partial_dependence(self) -> partial_dependence.Options:
        """Equivalent options of partial dependence, which lays out the same grids."""
        return partial_dependence.Options(
            features=(*((name,) for name in self.features), *self.joint_features),
            grids=self.grids,
            grid_size=self.grid_size,
            strategy=self.strategy,
            trim_lower=self.trim_lower,
            trim_upper=self.trim_upper,
            include_missing=self.include_missing,
            group_count=self.group_count,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Predictions of single rows over one grid.

    Attributes
    ----------
    features : tuple of str
        One feature, or those varied together.
    grid : tuple of (n_points,) arrays, one per feature
    values : (n_rows, n_points, n_outputs)
    is_stepped : bool
        As in partial dependence.
    own : tuple of (n_rows,) arrays, one per feature
        The rows' own values; empty where they are not known.
    """

    features: tuple[str, ...]
    grid: tuple[Array, ...]
    values: Cube
    is_stepped: bool = False
    own: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """ICE curves; see `IndividualConditionalExpectationResult` in the contract.

    Attributes
    ----------
    row_indices : (n_rows,)
        Rows of the table, one per curve.
    groups : tuple of str tuples, one per group column
        Group of each of these rows.
    group_columns : tuple of str
    centered : bool
    notes : tuple of Note
    """

    output_names: tuple[str, ...]
    curves: tuple[Curves, ...]
    row_indices: Indices
    groups: tuple[tuple[str, ...], ...]
    group_columns: tuple[str, ...]
    centered: bool
    notes: tuple[Note, ...] = ()


def resolve(options: Options, names: Sequence[str], row_count: int, path: str) -> Options:
    """Fill in defaults that depend on the features; reject invalid options.

    Parameters
    ----------
    row_count : int
        Rows of the table as sent.
    """
    features = options.features
    if features or not options.joint_features:
        features = choose(features, names, f"{path}.features")
    for i, together in enumerate(options.joint_features):
        choose(together or ("",), names, f"{path}.joint_features[{i}].names")
        if len(together) < 2:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"one feature, {together[0]!r}; joint_features needs at least two, features one",
                f"{path}.joint_features[{i}].names",
            )
    check_limits(IndividualConditionalExpectationOptions, options, path)
    limits = IndividualConditionalExpectationOptions.row_indices
    check_row_indices(options.row_indices, row_count, limits, f"{path}.row_indices")
    if len(options.group_columns) > IndividualConditionalExpectationOptions.group_columns.max_items:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{len(options.group_columns)} group_columns; a plot can distinguish at most 2",
            f"{path}.group_columns",
        )
    options = replace(options, features=features)
    resolved = partial_dependence.resolve(options.as_partial_dependence, names, path)
    return replace(options, grids=resolved.grids)


def cost(effects: Effects, points: Sequence[tuple[Array, ...]]) -> int:
    """Return the number of rows to predict; `effects` has the rows that get curves."""
    return len(effects.background) * sum(len(grid[0]) for grid in points)


def compute(
    effects: Effects,
    options: Options,
    points: Sequence[tuple[Array, ...]],
    groups: tuple[tuple[str, ...], ...],
) -> Result:
    """Predict every row at every grid point.

    Parameters
    ----------
    effects : Effects
        Its background has exactly the rows that get curves, without merging duplicates.
    points : one grid per entry of `features`, then of `joint_features`
    groups : one tuple per group column, with the group of each background row
    """
    averaged = options.as_partial_dependence
    curves = tuple(
        replace(_curves(effects, names, grid, centered=options.centered), is_stepped=is_stepped)
        for names, grid, is_stepped in zip(
            averaged.features, points, averaged.are_stepped, strict=True
        )
    )
    rows = effects.background.source
    names = effects.output_names
    return Result(names, curves, rows, groups, options.group_columns, options.centered)


def _curves(
    effects: Effects, names: tuple[str, ...], grid: tuple[Array, ...], *, centered: bool
) -> Curves:
    table = effects.background.features
    features = [table.index(name) for name in names]
    points = [table.cast(j, values) for j, values in zip(features, grid, strict=True)]
    values = effects.individual(features, points)
    if centered:
        center = center_index(grid[0])
        values = values - values[:, center : center + 1]
    return Curves(names, grid, values, own=tuple(table.columns[j] for j in features))


def center_index(grid: Array) -> int:
    """Return the index of the grid point at which centred curves are 0."""
    return (len(grid) + 1) // 2 - 1
