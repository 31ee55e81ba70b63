"""Terms of pairs of features, tabulated for all combinations of what the model makes of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.additive.model import AdditiveModel, Pair
from onnxplain_server.additive.terms import BLOCK_NUMBERS
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.core.rows import Features, feeds

MOST_CELLS = 1 << 18
"""Combinations of all pairs, which take a second or so."""


class PairTables:
    """Tables of the terms of pairs.

    Values of a feature that its pairs cannot tell apart, as those of one bin, have one kind.

    Parameters
    ----------
    model : AdditiveModel
    features : Features
        Names and types of the columns, with rows.
    """

    def __init__(self, model: AdditiveModel, features: Features) -> None:
        self.model = model
        self.features = frozenset(j for pair in model.values_by_pair for j in pair)
        self._features = features
        self._spare = features.take(np.zeros(1, dtype=np.intp)).cast_columns()
        self._kinds: dict[int, dict[tuple[object, ...], int]] = {j: {} for j in self.features}
        self._examples: dict[int, list[object]] = {j: [] for j in self.features}
        self._tables: dict[Pair, Cube] = {}

    @property
    def cell_count(self) -> int:
        """Combinations of all kinds that are known; a feature has one at least."""
        counts = {j: max(len(known), 1) for j, known in self._kinds.items()}
        return sum(counts[a] * counts[b] for a, b in self.model.values_by_pair)

    def kinds(self, feature: int, values: Array) -> Indices:
        """Return the kind of each value: (n,)."""
        found = np.empty(len(values), dtype=np.intp)
        step = max(1, BLOCK_NUMBERS // max(len(self.model.features), 1))
        for start in range(0, len(values), step):
            block = values[start : start + step]
            prepared = self.model.prepared(self._rows({feature: block}, len(block)))
            found[start : start + step] = self._numbered(feature, block, prepared[feature])
        return found

    def _numbered(self, feature: int, values: Array, prepared: Sequence[Array]) -> Indices:
        codes = [np.unique(own, return_inverse=True)[1].reshape(-1) for own in prepared]
        _, first, inverse = np.unique(
            np.stack(codes, axis=1), axis=0, return_index=True, return_inverse=True
        )
        known, examples = self._kinds[feature], self._examples[feature]
        numbers = np.empty(len(first), dtype=np.intp)
        for i, row in enumerate(first.tolist()):
            key = tuple(_key(own[row]) for own in prepared)
            if key not in known:
                known[key] = len(examples)
                examples.append(values[row])
            numbers[i] = known[key]
        return numbers[inverse.reshape(-1)]

    def table(self, pair: Pair) -> Cube:
        """Compute the terms of a pair for all kinds: (n_kinds, n_kinds, n_sums)."""
        shape = tuple(len(self._examples[j]) for j in pair)
        known = self._tables.get(pair)
        if known is None or known.shape[:2] != shape:
            self._tables[pair] = known = self._computed(pair, shape)
        return known

    def _computed(self, pair: Pair, shape: tuple[int, ...]) -> Cube:
        columns = [np.array(self._examples[j], dtype=self._spare[j].dtype) for j in pair]
        places = self.model.values_by_pair[pair]
        matrix = self.model.sums.matrix[:, places].T
        count = shape[0] * shape[1]
        step = max(1, BLOCK_NUMBERS // max(len(self.model.features), 1))
        terms: list[Matrix] = []
        for start in range(0, count, step):
            cells = np.arange(start, min(start + step, count))
            kinds = np.divmod(cells, shape[1])
            moved = {j: own[k] for j, own, k in zip(pair, columns, kinds, strict=True)}
            with np.errstate(invalid="ignore", over="ignore"):
                terms.append(self.model.front(self._rows(moved, len(cells)))[:, places] @ matrix)
        return np.concatenate(terms).reshape(*shape, self.model.sum_count)

    def _rows(self, moved: Mapping[int, Array], count: int) -> Mapping[str, Array]:
        """Return rows with values of some features, and equal ones of all others."""
        columns = [moved.get(j, np.repeat(own, count)) for j, own in enumerate(self._spare)]
        return feeds(self._features, columns)


def _key(value: object) -> object:
    """Return what equal values have in common, also those that are no number."""
    return value.tobytes() if isinstance(value, np.generic) else value
