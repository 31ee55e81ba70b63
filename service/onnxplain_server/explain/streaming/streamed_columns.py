"""Columns of a table in blocks, as grids and groups ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import Table
from onnxplain_server.effects.column_values import ColumnDistribution
from onnxplain_server.methods.grids import as_model_input, grid_ranks
from onnxplain_server.methods.groups import group_ranks
from onnxplain_server.trees.streaming.column_summary import (
    ColumnSummary,
    Summing,
    summarize,
)

if TYPE_CHECKING:
    from onnxplain_server.methods.partial_dependence import Options


@dataclass(frozen=True, slots=True, eq=False)
class StreamedColumns:
    """Implements `GridColumns` on a table in blocks.

    Attributes
    ----------
    features : Features
        Of some rows.
    summaries : mapping of str to ColumnSummary
        Of the features that grids are laid over.
    """

    features: Features
    summaries: Mapping[str, ColumnSummary]

    def values(self, feature: int) -> ColumnDistribution:
        return self.summaries[self.features.names[feature]]

    def inputs(self, feature: int) -> ColumnDistribution:
        return _Cast(self.features, feature, self.values(feature))


@dataclass(frozen=True, slots=True, eq=False)
class _Cast:
    """Values in the model's precision, which keeps their order."""

    features: Features
    feature: int
    column: ColumnDistribution

    @property
    def is_text(self) -> bool:
        return self.column.is_text

    @property
    def is_whole(self) -> bool:
        return self.column.is_whole

    @property
    def missing(self) -> Array:
        return self.column.missing

    def levels(self, limit: int) -> Array | None:
        levels = self.column.levels(limit)
        return None if levels is None else np.unique(self._cast(levels))

    def quantiles(self, probabilities: Vector) -> Vector:
        return self._cast(self.column.quantiles(probabilities))

    def _cast(self, values: Array) -> Array:
        return as_model_input(self.features, self.feature, values)


def wanted_ranks(options: Options, columns: Iterable[str]) -> dict[str, Vector]:
    """Return the probabilities of the quantiles that grids and groups need, by column.

    Parameters
    ----------
    options : Options
        Resolved.
    columns : iterable of str
        Divide the rows into groups.
    """
    ranks = grid_ranks(options)
    for name in columns:
        own = group_ranks(options.group_count)
        ranks[name] = np.concatenate([ranks[name], own]) if name in ranks else own
    return ranks


def known_columns(
    trees: Summing, sample: Table, wanted: Mapping[str, Vector]
) -> Mapping[str, ColumnSummary] | None:
    """Summarize columns of all rows; None where one has too many distinct texts to be known.

    Parameters
    ----------
    trees : Summing
        Sums over all rows.
    sample : Table
        Some of the rows.
    wanted : mapping of str to (n,)
        Probabilities of the quantiles that are needed, by column.
    """
    summaries = summarize(trees, sample, wanted)
    are_known = all(each.sums.is_complete for each in summaries.values() if each.is_text)
    return summaries if are_known else None
