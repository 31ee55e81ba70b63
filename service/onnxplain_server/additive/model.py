"""Additive model: outputs made of a link function of sums of terms of one feature, or of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.trees.reading.links import AffineMap

_PROBABILITY_ROUNDING = 16
"""Error of a probability beside that of its score, in units of the model's rounding."""


class TermLink(Enum):
    """Function of a row's sums."""

    IDENTITY = "identity"
    LOGISTIC = "logistic function"
    """Of each sum."""
    EXPONENTIAL = "exponential"
    """Of each sum."""
    SOFTMAX = "softmax"
    """Of all sums."""
    LOGISTIC_SHARES = "logistic function, divided by its sum over classes,"
    """Of each sum, divided by the total of all: of one classifier against the rest for each
    class."""


MIXING = frozenset({TermLink.SOFTMAX, TermLink.LOGISTIC_SHARES})
"""Links whose results each depend on all sums."""


@dataclass(frozen=True, slots=True, eq=False)
class TermSums:
    """Sums of terms: affine functions of values that are each computed from one feature.

    Attributes
    ----------
    matrix : (n_sums, n_values)
    offset : (n_sums,)
    absolute : (n_sums, n_values)
        Sums of products of absolute coefficients, in the order in which the model multiplies them.
    absolute_offset : (n_sums,)
    addition_count : int
        Bound of the additions and multiplications on any way from a value to a sum.
    rounding : float
        Relative error of a factor that the runtime rounds to float32 whatever the model's type.
    """

    matrix: Matrix
    offset: Vector
    absolute: Matrix
    absolute_offset: Vector
    addition_count: int
    rounding: float = 0.0

    def after(self, outer: AffineMap) -> TermSums:
        """Return affine functions of the sums, which are computed in float64."""
        size = np.abs(outer.matrix)
        return TermSums(
            outer.matrix @ self.matrix,
            outer.matrix @ self.offset + outer.offset,
            size @ self.absolute,
            size @ self.absolute_offset + np.abs(outer.offset),
            self.addition_count,
            self.rounding,
        )

    def select(self, sums: Indices) -> TermSums:
        """Keep some of the sums."""
        return replace(
            self,
            matrix=self.matrix[sums],
            offset=self.offset[sums],
            absolute=self.absolute[sums],
            absolute_offset=self.absolute_offset[sums],
        )


Pair: TypeAlias = tuple[int, int]
"""Two features, ascending."""


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """Model whose outputs are affine in a link function of sums of terms.

    Attributes
    ----------
    front : callable (feeds) -> (n_rows, n_values)
        Computes the values by the model's runtime, row by row.
    features, partners : (n_values,)
        Feature that each value is computed from, and the other one; -1 where there is no other.
    sums : TermSums
    link : TermLink
    combination : AffineMap or None
        Map from linked sums to outputs; None where these are the outputs.
    prepared : callable (feeds) -> mapping of feature to list of (n_rows,) arrays
        For each feature with a partner, all that values of both are computed from.
    """

    front: Callable[[Mapping[str, Array]], Matrix]
    features: Indices
    partners: Indices
    sums: TermSums
    link: TermLink
    combination: AffineMap | None
    prepared: Callable[[Mapping[str, Array]], Mapping[int, list[Array]]]

    def after(self, outer: AffineMap) -> AdditiveModel:
        """Return affine functions of the outputs."""
        if self.link is TermLink.IDENTITY:
            return replace(self, sums=self.sums.after(outer))
        own = self.combination
        return replace(self, combination=outer if own is None else outer.after(own))

    def select(self, outputs: Indices) -> AdditiveModel:
        """Keep some of the outputs, and those sums that they need."""
        if self.link is TermLink.IDENTITY:
            return replace(self, sums=self.sums.select(outputs))
        count = len(self.sums.offset)
        whole = self.combination or AffineMap(np.eye(count), np.zeros(count))
        matrix, offset = whole.matrix[outputs], whole.offset[outputs]
        if self.link in MIXING:
            return replace(self, combination=AffineMap(matrix, offset))
        used = np.flatnonzero(matrix.any(axis=0))
        return replace(
            self, sums=self.sums.select(used), combination=AffineMap(matrix[:, used], offset)
        )

    @property
    def sum_count(self) -> int:
        """Number of sums."""
        return len(self.sums.offset)

    @cached_property
    def values_by_feature(self) -> Mapping[int, Indices]:
        """Positions of the values that each feature has, ascending.

        Features are absent that have none, or only such as no sum has a coefficient for.
        """
        used = np.flatnonzero(self.sums.matrix.any(axis=0) & (self.partners < 0))
        if not len(used):
            return {}
        order = used[np.argsort(self.features[used], kind="stable")]
        features, starts = np.unique(self.features[order], return_index=True)
        parts = np.split(order, starts[1:])
        return dict(zip(features.tolist(), parts, strict=True))

    @cached_property
    def values_by_pair(self) -> Mapping[Pair, Indices]:
        """Positions of the values that each pair of features has, where a sum has a coefficient."""
        places: dict[Pair, list[int]] = {}
        for k in np.flatnonzero(self.sums.matrix.any(axis=0) & (self.partners >= 0)).tolist():
            places.setdefault((int(self.features[k]), int(self.partners[k])), []).append(k)
        return {pair: np.array(own) for pair, own in places.items()}

    def linked(self, sums: Array) -> Array:
        """Compute the link function: (..., n_sums) to the same."""
        with np.errstate(over="ignore"):  # an infinite exponential is told as such
            match self.link:
                case TermLink.IDENTITY:
                    return sums
                case TermLink.LOGISTIC:
                    return logistic(sums)
                case TermLink.EXPONENTIAL:
                    return np.exp(sums)
                case TermLink.SOFTMAX:
                    powers = np.exp(sums - sums.max(axis=-1, keepdims=True))
                    return shares_of(powers)
                case TermLink.LOGISTIC_SHARES:
                    return shares_of(logistic(sums))

    def combine(self, linked: Array) -> Array:
        """Compute outputs from linked sums, or averages of them: (..., n_sums)."""
        if self.combination is None:
            return linked
        combined: Array = linked @ self.combination.matrix.T + self.combination.offset
        return combined

    def outputs(self, sums: Array) -> Array:
        """Compute outputs from sums: (..., n_sums) to (..., n_outputs)."""
        return self.combine(self.linked(sums))

    def errors(self, values: Matrix, sums: Matrix, rounding: float) -> Matrix:
        """Bound how far outputs are from those of a runtime that rounds each operation.

        Parameters
        ----------
        values : (n_rows, n_values)
        sums : (n_rows, n_sums)
        rounding : float
            Relative error of one operation.

        Returns
        -------
        (n_rows, n_outputs)
            n u / (1 - n u) times the sum of the absolute terms, for n operations on the way to a
            sum (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1), through
            the slope of the link, and few roundings of the link and of what follows it.
        """
        rounding = max(rounding, self.sums.rounding)
        count = (self.sums.addition_count + 2) * rounding
        size = np.abs(values) @ self.sums.absolute.T + self.sums.absolute_offset
        errors = self._errors_behind_link(sums, count / max(1 - count, 0.5) * size, rounding)
        if self.combination is None:
            return errors
        matrix, offset = self.combination
        size = np.abs(self.linked(sums)) @ np.abs(matrix).T + np.abs(offset)
        combined: Matrix = errors @ np.abs(matrix).T
        return combined + _PROBABILITY_ROUNDING * rounding * size

    def _errors_behind_link(self, sums: Matrix, of_sums: Matrix, rounding: float) -> Matrix:
        """Bound the errors of linked sums by those of the sums: (n_rows, n_sums)."""
        match self.link:
            case TermLink.IDENTITY:
                return of_sums
            case TermLink.EXPONENTIAL:
                linked = np.abs(self.linked(sums))
                errors = linked * (np.expm1(of_sums) + _PROBABILITY_ROUNDING * rounding)
            case TermLink.LOGISTIC:
                errors = of_sums / 4 + _PROBABILITY_ROUNDING * rounding
            case TermLink.SOFTMAX:
                largest = of_sums.max(axis=-1, keepdims=True)
                errors = np.broadcast_to(largest, of_sums.shape) / 2
                errors = errors + _PROBABILITY_ROUNDING * rounding
            case TermLink.LOGISTIC_SHARES:
                total = logistic(sums).sum(axis=-1, keepdims=True)
                single = of_sums / 4 + _PROBABILITY_ROUNDING * rounding
                errors = (single + single.sum(axis=-1, keepdims=True)) / total
        return errors


def logistic(sums: Array) -> Array:
    """Compute 1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):  # that of a very low number is 0
        values: Array = 1 / (1 + np.exp(-sums))
    return values


def shares_of(values: Array) -> Array:
    """Divide values by their total: (..., n)."""
    shares: Array = values / values.sum(axis=-1, keepdims=True)
    return shares


def described(model: AdditiveModel) -> str:
    """Say what the outputs are, for the receipt."""
    count = len(model.values_by_pair)
    sums = "sums of one term for each feature"
    if count:
        sums += f" and {count} of two features" if count > 1 else " and one of two features"
    if model.link is TermLink.IDENTITY:
        return sums
    return f"made of the {model.link.value} of {sums}"
