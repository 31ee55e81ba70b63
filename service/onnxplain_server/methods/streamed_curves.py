"""Partial dependence on a table that is read block by block, by the model's trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.grids import sample_values
from onnxplain_server.methods.groups import Grouping
from onnxplain_server.methods.partial_dependence import Options, PartialDependenceCurve, Result
from onnxplain_server.trees.streaming.counts import TreeCounts
from onnxplain_server.trees.streaming.engine import StreamedTrees


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """All rows of a table in blocks, or their groups.

    Attributes
    ----------
    column : str
        Empty if rows are not grouped.
    grouping : Grouping or None
    unit : float
        Case weight that a weight of 1 stands for.
    """

    column: str
    grouping: Grouping | None
    unit: float

    def counts(
        self, trees: StreamedTrees, groups: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[str, TreeCounts, float]]:
        """Count rows for groups of features: label, counts and weight of each group of rows."""
        if self.grouping is None:
            counts = trees.count(groups)
            yield "", counts, counts.weight * self.unit
            return
        labels = self.grouping.labels
        for k, counts in trees.count_groups(groups, self.column, self.grouping, len(labels)):
            yield labels[k], counts, counts.weight * self.unit


def compute_streamed(
    trees: StreamedTrees,
    options: Options,
    points: Sequence[tuple[Array, ...]],
    sample: Features,
    rows: GroupedRows,
) -> Result:
    """Compute the curves on a table that is read block by block.

    Parameters
    ----------
    points : one grid per entry of `options.features`
    sample : Features
        Of some rows, for the rug plot.
    rows : GroupedRows
    """
    entries = []
    for names, grid in zip(options.features, points, strict=True):
        positions = tuple(sample.index(name) for name in names)
        cast = [sample.cast(j, values) for j, values in zip(positions, grid, strict=True)]
        entries.append((names, grid, positions, cast))
    by_group = [
        [
            PartialDependenceCurve(
                names, label, grid, trees.curve(counts, positions, cast), weight, is_stepped
            )
            for (names, grid, positions, cast), is_stepped in zip(
                entries, options.are_stepped, strict=True
            )
        ]
        for label, counts, weight in rows.counts(trees, [entry[2] for entry in entries])
    ]
    curves = [curve for same_grid in zip(*by_group, strict=True) for curve in same_grid]
    varied = {name for names in options.features for name in names}
    names = trees.outputs.names
    return Result(names, tuple(curves), sample_values(sample, varied), options.group_column)
