"""Individual conditional expectation: how the prediction of single rows changes with a feature.

Goldstein, Kapelner, Bleich and Pitkin (2015), "Peeking Inside the Black Box",
Journal of Computational and Graphical Statistics 24(1), 44-65.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onnxplain_server.arrays import Array, Cube, Indices
from onnxplain_server.effects.effects import Effects
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.options import choose, within
from onnxplain_server.methods.partial_dependence import Strategy


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """What to compute; see `IndividualConditionalExpectationOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        Empty, before `resolve`, for all.
    grids : tuple, one entry per feature
        As in partial dependence.
    """

    features: tuple[str, ...] = ()
    grids: tuple[Mapping[str, Array] | None, ...] = ()
    grid_size: int = 49
    strategy: Strategy = Strategy.UNIFORM
    trim_lower: float = 0.01
    trim_upper: float = 0.99
    include_missing: bool = False
    curve_count: int = 100
    group_columns: tuple[str, ...] = ()
    group_count: int = 4
    centered: bool = False

    @property
    def as_partial_dependence(self) -> partial_dependence.Options:
        """The same grids, asked for by the method that averages over rows."""
        return partial_dependence.Options(
            features=tuple((name,) for name in self.features),
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
    """Predictions of single rows over the grid of one feature.

    Attributes
    ----------
    feature : str
    grid : (n_points,)
    values : (n_rows, n_points, n_outputs)
    is_stepped : bool
        As in partial dependence.
    """

    feature: str
    grid: Array
    values: Cube
    is_stepped: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Curves of all features; see `IndividualConditionalExpectationResult` in the contract.

    Attributes
    ----------
    row_indices : (n_rows,)
        Rows of the table that the curves belong to.
    groups : tuple of str tuples, one per group column
        For each of these rows, its group.
    group_columns : tuple of str
    centered : bool
    """

    output_names: tuple[str, ...]
    curves: tuple[Curves, ...]
    row_indices: Indices
    groups: tuple[tuple[str, ...], ...]
    group_columns: tuple[str, ...]
    centered: bool


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in defaults that depend on the features, and refuse what is impossible."""
    features = choose(options.features, names, f"{path}.features")
    within(options.curve_count, 1, 10_000, f"{path}.curve_count")
    if len(options.group_columns) > 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{len(options.group_columns)} group_columns; at most 2 can be told apart in a plot",
            f"{path}.group_columns",
        )
    named = replace(options, features=features)
    resolved = partial_dependence.resolve(named.as_partial_dependence, names, path)
    return replace(named, grids=resolved.grids)


def cost(effects: Effects, points: Sequence[tuple[Array, ...]]) -> int:
    """Return the rows to predict; `effects` are on the rows that get curves."""
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
        On a background that keeps every row, and only those that get curves.
    points : one grid per feature
    groups : one tuple per group column, of the groups of the background's rows
    """
    are_stepped = options.as_partial_dependence.are_stepped
    curves = tuple(
        replace(_curves(effects, name, grid[0], centered=options.centered), is_stepped=is_stepped)
        for name, grid, is_stepped in zip(options.features, points, are_stepped, strict=True)
    )
    rows = effects.background.source
    names = effects.output_names
    return Result(names, curves, rows, groups, options.group_columns, options.centered)


def _curves(effects: Effects, name: str, grid: Array, *, centered: bool) -> Curves:
    feature = effects.background.features.index(name)
    points = effects.background.features.cast(feature, grid)
    values = effects.individual(feature, points)
    if centered:
        middle = middle_of(grid)
        values = values - values[:, middle : middle + 1]
    return Curves(name, grid, values)


def middle_of(grid: Array) -> int:
    """Return the position of the point at which centred curves are 0."""
    return (len(grid) + 1) // 2 - 1
