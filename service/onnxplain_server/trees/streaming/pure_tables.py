"""Tables of pure effects over the cells of their features, computed once for all blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Int32Matrix, Matrix
from onnxplain_server.trees.counting.pure_effects import evaluate_pure
from onnxplain_server.trees.counting.strategies import CountedLeaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.counts import Group, TreeCounts

_MAX_ENTRIES = 1 << 20
"""Of a table: 8 MB. Effects of groups with more combinations of cells are summed at the rows."""


class PureTables:
    """Pure effects of groups, at the cells of rows; safe for threads.

    Parameters
    ----------
    ensemble : Ensemble
    counts : TreeCounts
        Of these groups.
    groups : sequence of tuples of int
    """

    def __init__(self, ensemble: Ensemble, counts: TreeCounts, groups: Sequence[Group]) -> None:
        self._ensemble = ensemble
        self._counted: dict[Group, CountedLeaves] = {}
        self._tables: dict[Group, Matrix] = {}
        for group in groups:
            counted = counts.of(group)
            if self._fits(group):
                self._tables[group] = evaluate_pure(ensemble, counted, self._all_cells(group))
            else:
                self._counted[group] = counted

    def at(self, group: Group, codes: Int32Matrix) -> Matrix:
        """Return the pure effect at rows given by their cells, (n_features, n): (n, n_targets)."""
        if group in self._tables:
            cells = [codes[j] - self._ensemble.first[j] for j in group]
            place = np.ravel_multi_index(cells, self._sizes(group))
            found: Matrix = self._tables[group][place]
            return found
        return evaluate_pure(self._ensemble, self._counted[group], [codes[j] for j in group])

    def _sizes(self, group: Group) -> tuple[int, ...]:
        """Return the number of cells of each feature."""
        first = self._ensemble.first
        return tuple(int(first[j + 1] - first[j]) - 1 for j in group)

    def _fits(self, group: Group) -> bool:
        return math.prod(self._sizes(group)) * int(self._ensemble.values.shape[1]) <= _MAX_ENTRIES

    def _all_cells(self, group: Group) -> list[Int32Matrix]:
        """Return all combinations of cells, one (n_combinations,) array per feature."""
        axes = np.indices(self._sizes(group), dtype=np.int32).reshape(len(group), -1)
        return [axis + self._ensemble.first[j] for j, axis in zip(group, axes, strict=True)]
