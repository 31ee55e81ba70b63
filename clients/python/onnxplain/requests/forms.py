"""Lists of features, and the grids that go with them, as the contract has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxplain.columns import to_column
from onnxplain.v1.partial_dependence_pb2 import FeatureGroup, Grid


def to_names(names: Sequence[Any], option: str = "features") -> Sequence[Any]:
    """Refuse a lone name, whose letters would pass for names.

    Raises
    ------
    TypeError
    """
    if isinstance(names, str):
        raise TypeError(f"{option} must be a list; for one, [{names!r}]")
    return names


def to_groups(
    features: Sequence[str | Sequence[str]], option: str = "features"
) -> list[FeatureGroup]:
    """Write entries of one name, or of several that go together."""
    return [
        FeatureGroup(names=[entry] if isinstance(entry, str) else list(entry))
        for entry in to_names(features, option)
    ]


def to_grids(grids: Sequence[Any], groups: Sequence[FeatureGroup]) -> list[Grid]:
    """Write explicit grids, one for each entry of features.

    Raises
    ------
    TypeError, ValueError
        Where they do not fit the features, or hold neither numbers nor strings.
    """
    if grids and len(grids) != len(groups):
        raise ValueError(
            f"grids has {len(grids)} entries for {len(groups)} entries of features: "
            "give one for each, None where the grid is to be laid"
        )
    return [_grid(grid, group.names) for grid, group in zip(grids, groups, strict=False)]


def _grid(grid: Any, names: Sequence[str]) -> Grid:
    if grid is None:
        return Grid()
    columns = grid if isinstance(grid, Mapping) else dict.fromkeys(names[:1], grid)
    if set(columns) != set(names):
        raise ValueError(
            f"the grid for {', '.join(names)} must be a mapping with exactly these features"
        )
    return Grid(columns=[to_column(name, columns[name]) for name in names])
