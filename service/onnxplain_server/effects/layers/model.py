"""First layers of a model: tensors made of one part for each feature, and the rest of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.model import Model
from onnxplain_server.effects.batch_size import BatchSize

_PLACE_ROUNDINGS = 4
"""Roundings by which a value may differ with its place in a call of the runtime: it computes
functions of several values at once, and of those that are left over by other instructions."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerSums:
    """Affine functions of values that are each computed from one feature.

    Attributes
    ----------
    matrices : mapping of number of a front's tensor to (n_sums, n_values)
        Coefficients.
    offset : (n_sums,)
    absolute : mapping of number of a front's tensor to (n_sums, n_values)
        Sums of products of absolute coefficients, in the order in which the model multiplies them.
    absolute_offset : (n_sums,)
    addition_count : int
        Bound of the additions and multiplications on any way from a value to a sum.
    rounding : float
        Relative error of a factor that the runtime rounds to float32 whatever the model's type.
    """

    matrices: Mapping[int, Matrix]
    offset: Vector
    absolute: Mapping[int, Matrix]
    absolute_offset: Vector
    addition_count: int
    rounding: float

    def at(self, values: Sequence[Array]) -> Matrix:
        """Compute the sums of values of the front: (n_rows, n_sums)."""
        total = np.tile(self.offset, (len(values[0]), 1))
        for number, matrix in self.matrices.items():
            total += values[number].astype(np.float64) @ matrix.T
        return total

    def sizes(self, values: Sequence[Array]) -> Matrix:
        """Return sums of the absolute terms of values of the front: (n_rows, n_sums)."""
        total = np.tile(self.absolute_offset, (len(values[0]), 1))
        for number, matrix in self.absolute.items():
            total += np.abs(values[number].astype(np.float64)) @ matrix.T
        return total


@dataclass(frozen=True, slots=True, eq=False)
class LayerTensor:
    """Tensor that the rest of a model reads.

    Attributes
    ----------
    name : str
    dtype : numpy dtype
    shape : tuple of int
        Of a row.
    source : LayerSums or int
        Sums of values of the front, or the number of the front's tensor that it is.
    """

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    source: LayerSums | int

    def buffer(self, count: int) -> Array:
        """Return room for so many rows: (count, n_values)."""
        return np.empty((count, int(np.prod(self.shape))), self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class FirstLayers:
    """Model in two parts: what is computed column by column and added up, and the rest.

    Attributes
    ----------
    front : callable (feeds) -> list of (n_rows, n_values)
        Computes by the model's runtime, each value from one feature.
    features : tuple of (n_values,)
        Feature of each value of the front's tensors.
    tensors : tuple of LayerTensor
        All that the rest of the model reads.
    rest : Model
        Takes the tensors in place of the inputs.
    inner : callable (feeds) -> list of (n_rows, n_values)
        Computes the tensors by the model's runtime.
    batch_size : BatchSize
        Of calls of the rest.
    """

    front: Callable[[Mapping[str, Array]], list[Array]]
    features: tuple[Indices, ...]
    tensors: tuple[LayerTensor, ...]
    rest: Model
    inner: Callable[[Mapping[str, Array]], list[Array]]
    batch_size: BatchSize = field(default_factory=BatchSize)

    @property
    def has_sums(self) -> bool:
        """Return whether it adds values up, which rounds."""
        return any(isinstance(tensor.source, LayerSums) for tensor in self.tensors)

    def feeds(self, buffers: Sequence[Array]) -> Mapping[str, Array]:
        """Arrange buffers of the tensors, (n_rows, n_values) each, as feeds of the rest."""
        return {
            tensor.name: buffer.reshape(len(buffer), *tensor.shape)
            for tensor, buffer in zip(self.tensors, buffers, strict=True)
        }

    def sums(self, values: Sequence[Array]) -> list[Array]:
        """Compute the tensors from values of the front: (n_rows, n_values), sums in float64."""
        return [
            values[tensor.source] if isinstance(tensor.source, int) else tensor.source.at(values)
            for tensor in self.tensors
        ]

    def errors(self, values: Sequence[Array], rounding: float) -> list[Array]:
        """Bound how far sums are from those of a runtime that rounds each operation.

        Returns
        -------
        list of (n_rows, n_values)
            n u / (1 - n u) times the sum of the absolute terms, for n operations on the way to a
            sum (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1), for
            the three roundings of sums that are made of two parts, and for those by which the
            runtime computes a value of the front otherwise in another place of a call.
        """
        errors = []
        for tensor in self.tensors:
            source = tensor.source
            if isinstance(source, int):
                own = values[source]
                places = _PLACE_ROUNDINGS * rounding if own.dtype.kind == "f" else 0.0
                errors.append(places * np.abs(own.astype(np.float64)))
                continue
            operations = source.addition_count + _PLACE_ROUNDINGS + 3
            count = operations * max(rounding, source.rounding)
            errors.append(count / max(1 - count, 0.5) * source.sizes(values))
        return errors

    def terms(self, feature: int, values: Sequence[Array]) -> list[Array | None]:
        """Compute the parts of a feature from values of the front.

        Returns
        -------
        list of (n_rows, n_values) or None
            For each tensor: what the feature adds to sums, in float64, or its values at `places`;
            None where the feature has no part.
        """
        own = [np.flatnonzero(features == feature) for features in self.features]
        terms: list[Array | None] = []
        for tensor in self.tensors:
            source = tensor.source
            if isinstance(source, int):
                terms.append(values[source][:, own[source]] if len(own[source]) else None)
                continue
            parts = [
                values[number][:, own[number]].astype(np.float64) @ matrix[:, own[number]].T
                for number, matrix in source.matrices.items()
                if len(own[number])
            ]
            terms.append(sum(parts[1:], parts[0]) if parts else None)
        return terms

    def places(self, feature: int, tensor: LayerTensor) -> Indices:
        """Return the places of a feature's values in a tensor of the front."""
        assert isinstance(tensor.source, int)  # noqa: S101 - others are sums
        return np.flatnonzero(self.features[tensor.source] == feature)
