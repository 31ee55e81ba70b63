"""Partial dependence: how the average prediction changes with one or several features."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from onnxplain_server.arrays import Array, Matrix


class Strategy(Enum):
    """How a grid is laid over a numeric feature."""

    UNIFORM = "UNIFORM"
    QUANTILE = "QUANTILE"


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """What to compute; see `PartialDependenceOptions` in the contract.

    Attributes
    ----------
    features : tuple of tuples of str
        What to vary: one feature a curve, several together a surface; resolved, never empty.
    grids : tuple, one entry per entry of `features`
        None: the grid is laid; otherwise one (n_points,) array per feature.
    """

    features: tuple[tuple[str, ...], ...]
    grids: tuple[tuple[Array, ...] | None, ...]
    grid_size: int = 49
    strategy: Strategy = Strategy.UNIFORM
    trim_lower: float = 0.01
    trim_upper: float = 0.99
    group_column: str = ""
    group_count: int = 4
    include_missing: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Average predictions over one grid.

    Attributes
    ----------
    features : tuple of str
    group : str
        Group of rows averaged over; empty where rows are not grouped.
    grid : tuple of (n_points,) arrays, one per feature
        float64, or str objects.
    values : (n_points, n_outputs)
        Not centred; output unit.
    weight : float
        Total weight of the rows averaged over.
    """

    features: tuple[str, ...]
    group: str
    grid: tuple[Array, ...]
    values: Matrix
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Curves in the order asked for, each by its groups in order of first appearance.

    Attributes
    ----------
    output_names : tuple of str
    curves : tuple of Curve
    samples : mapping of feature to (n,) array
        Some of the feature's values in the table, for a rug under the curves.
    """

    output_names: tuple[str, ...]
    curves: tuple[Curve, ...]
    samples: dict[str, Array]
