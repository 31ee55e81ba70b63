"""Terms of an additive model at values of its features, and the sums of the terms of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.model import AdditiveModel, Pair
from onnxplain_server.core.arrays import Array, Cube, Matrix, Vector
from onnxplain_server.core.rows import Features, feeds

BLOCK_NUMBERS = 1 << 22
"""Values that the front computes at once, which bounds memory."""


class FrontValues:
    """Values that the front of a model computes of single features.

    Parameters
    ----------
    model : AdditiveModel or KernelModel
    features : Features
        Names and types of the columns.

    Notes
    -----
    Each value is computed from one feature, whatever the others are. So one call computes the
    values of all features at as many points as the feature with most has.
    """

    def __init__(self, model: AdditiveModel | KernelModel, features: Features) -> None:
        self._model = model
        self._features = features

    def blocks(
        self, points: Mapping[int, Array], spare: Sequence[Array]
    ) -> Iterator[tuple[int, int, Matrix]]:
        """Yield feature, first point, and values of some points: (n_points, n_own).

        Parameters
        ----------
        points : mapping of feature to (n_points,)
            In the model's types. Features without values get none.
        spare : sequence of arrays
            A value at least of each feature, for those that are not asked for.
        """
        places = self._model.values_by_feature
        used = {j: own for j, own in points.items() if j in places}
        count = max(map(len, used.values()), default=0)
        step = max(1, BLOCK_NUMBERS // max(len(self._model.features), 1))
        for start in range(0, count, step):
            rows = np.arange(start, min(start + step, count))
            columns = [
                used[j][np.minimum(rows, len(used[j]) - 1)]
                if j in used
                else np.repeat(spare[j][:1], len(rows))
                for j in range(len(self._features.names))
            ]
            computed = self._model.front(feeds(self._features, columns))
            for j, own in used.items():
                if len(own) > start:
                    yield j, start, computed[: len(own) - start, places[j]]


class FeatureTerms:
    """Terms of single features of an additive model.

    Parameters
    ----------
    model : AdditiveModel
    features : Features
        Names and types of the columns.
    """

    def __init__(self, model: AdditiveModel, features: Features) -> None:
        self.model = model
        self._values = FrontValues(model, features)

    def at(self, values: Mapping[int, Array], spare: Sequence[Array]) -> dict[int, Matrix]:
        """Compute the terms of features at values: (n_values, n_sums) each.

        Parameters are those of `FrontValues.blocks`.
        """
        places, matrix = self.model.values_by_feature, self.model.sums.matrix
        terms = {
            j: np.zeros((len(own), self.model.sum_count))
            for j, own in values.items()
            if j in places
        }
        for j, start, computed in self._values.blocks(values, spare):
            with np.errstate(invalid="ignore", over="ignore"):
                terms[j][start : start + len(computed)] = computed @ matrix[:, places[j]].T
        return terms


def size_of(terms: Mapping[int, Matrix], tables: Mapping[Pair, Cube], offset: Vector) -> Vector:
    """Bound the absolute sum of any terms: (n_sums,)."""
    total = np.abs(offset)
    for term in terms.values():
        total += np.abs(term).max(axis=0)
    for table in tables.values():
        total += np.abs(table).max(axis=(0, 1))
    return total
