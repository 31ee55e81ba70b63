"""Terms of an additive model at values of its features, and the sums of the terms of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.additive.model import AdditiveModel, Pair
from onnxplain_server.core.arrays import Array, Cube, Matrix, Vector
from onnxplain_server.core.rows import Features, feeds

BLOCK_NUMBERS = 1 << 22
"""Values that the front computes at once, which bounds memory."""


class FeatureTerms:
    """Terms of single features of an additive model.

    Parameters
    ----------
    model : AdditiveModel
    features : Features
        Names and types of the columns.

    Notes
    -----
    Each value is computed from one feature, whatever the others are. So one call computes the
    terms of all features at as many values as the feature with most has.
    """

    def __init__(self, model: AdditiveModel, features: Features) -> None:
        self.model = model
        self._features = features

    def at(self, values: Mapping[int, Array], spare: Sequence[Array]) -> dict[int, Matrix]:
        """Compute the terms of features at values: (n_values, n_sums) each.

        Parameters
        ----------
        values : mapping of feature to (n_values,)
            In the model's types. Features without a term get none.
        spare : sequence of arrays
            A value at least of each feature, for those that are not asked for.
        """
        used = {j: own for j, own in values.items() if j in self.model.values_by_feature}
        count = max(map(len, used.values()), default=0)
        places = self.model.values_by_feature
        terms = {j: np.zeros((len(own), self.model.sum_count)) for j, own in used.items()}
        step = max(1, BLOCK_NUMBERS // max(len(self.model.features), 1))
        for start in range(0, count, step):
            rows = np.arange(start, min(start + step, count))
            columns = [
                used[j][np.minimum(rows, len(used[j]) - 1)]
                if j in used
                else np.repeat(spare[j][:1], len(rows))
                for j in range(len(self._features.names))
            ]
            computed = self.model.front(feeds(self._features, columns))
            for j, term in terms.items():
                own = computed[: max(0, len(term) - start), places[j]]
                with np.errstate(invalid="ignore", over="ignore"):
                    term[start : start + len(own)] = own @ self.model.sums.matrix[:, places[j]].T
        return terms


def size_of(terms: Mapping[int, Matrix], tables: Mapping[Pair, Cube], offset: Vector) -> Vector:
    """Bound the absolute sum of any terms: (n_sums,)."""
    total = np.abs(offset)
    for term in terms.values():
        total += np.abs(term).max(axis=0)
    for table in tables.values():
        total += np.abs(table).max(axis=(0, 1))
    return total
