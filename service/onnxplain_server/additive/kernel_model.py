"""Kernel model: outputs that are weighted sums of products of functions of one feature each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.trees.reading.links import AffineMap


@dataclass(frozen=True, eq=False)
class KernelModel:
    """Model whose outputs are offset + Σ_s weight_s · Π_q exp(-scale_sq · (u_q - center_sq)²).

    The u_q are values that the model prepares of one feature each: scaled numbers, one-hot columns.

    Attributes
    ----------
    front : callable (feeds) -> (n_rows, n_values)
        Computes the u_q by the model's runtime, row by row.
    features : (n_values,)
        Feature that each value is computed from; below 0 where it is computed from none.
    centers, scales : (n_kernels, n_values)
        Scales are at least 0; 0 for values that a kernel does not take.
    weights : (n_outputs, n_kernels)
    offset : (n_outputs,)
    addition_count : int
        Bound of the additions and multiplications on any way from a kernel to an output.
    rounding : float
        Relative error of a factor that the runtime rounds to float32 whatever the model's type.
    """

    front: Callable[[Mapping[str, Array]], Matrix]
    features: Indices
    centers: Matrix
    scales: Matrix
    weights: Matrix
    offset: Vector
    addition_count: int
    rounding: float

    def after(self, outer: AffineMap) -> KernelModel:
        """Return affine functions of the outputs."""
        return replace(
            self,
            weights=outer.matrix @ self.weights,
            offset=outer.matrix @ self.offset + outer.offset,
            addition_count=self.addition_count + len(self.weights) + 1,
        )

    def select(self, outputs: Indices) -> KernelModel:
        """Keep some of the outputs, and those kernels that they need."""
        weights = self.weights[outputs]
        used = np.flatnonzero(weights.any(axis=0))
        return replace(
            self,
            centers=self.centers[used],
            scales=self.scales[used],
            weights=weights[:, used],
            offset=self.offset[outputs],
        )

    @property
    def kernel_count(self) -> int:
        """Number of kernels: those of support vectors, or of the rows that it was trained on."""
        return len(self.centers)

    @cached_property
    def values_by_feature(self) -> Mapping[int, Indices]:
        """Positions of the values that each feature has, where a kernel takes one."""
        used = np.flatnonzero(self.scales.any(axis=0) & (self.features >= 0))
        features = np.unique(self.features[used]).tolist()
        return {j: used[self.features[used] == j] for j in features}

    def exponents(self, values: Matrix, places: Indices, kernels: slice) -> Matrix:
        """Add up scaled squared distances over some of the values.

        Parameters
        ----------
        values : (n_rows, n_places)
        places : (n_places,)
        kernels : slice

        Returns
        -------
        (n_rows, n_kernels)
        """
        total = np.zeros((len(values), len(self.centers[kernels])))
        for own, place in zip(values.T, places.tolist(), strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # the exponential of -∞ is 0
                away = own[:, np.newaxis] - self.centers[kernels, place]
                away *= away
                away *= self.scales[kernels, place]
                total += away
        return total


def described_kernels(model: KernelModel) -> str:
    """Say what the outputs are, for the receipt."""
    count = f"{model.kernel_count:,}"
    return f"a weighted sum of {count} products of Gaussian functions of one feature each"
