"""Tensor columns before the trees: each a function of one feature, computed as the runtime does.

A column is a `FeatureSteps`, monotone steps on the feature, or a `Lookup` of such a chain's result
in a table of keys. Types and order of operations are the runtime's, so that every comparison with
a threshold has the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.refusal import RefusedError

DType: TypeAlias = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One operator on one column.

    Attributes
    ----------
    apply : callable
        (n,) to (n,), elementwise.
    sign : int
        1 if never falling, -1 if never rising, else 0; for all numbers but NaN.
    name : str
        Name of the operator.
    """

    apply: Callable[[Array], Array]
    sign: int
    name: str


@dataclass(frozen=True, slots=True)
class FeatureSteps:
    """Chain of monotone steps on a feature.

    Attributes
    ----------
    feature : int
    dtype : numpy dtype
        Type in which the model takes the feature.
    steps : tuple of Step
    """

    feature: int
    dtype: DType
    steps: tuple[Step, ...] = ()

    @property
    def sign(self) -> int:
        """Direction of the column along the feature: rising (1) or falling (-1)."""
        return int(np.prod([step.sign for step in self.steps], dtype=int))

    @property
    def is_text(self) -> bool:
        """True for text."""
        return self.dtype == object

    def __call__(self, values: Array) -> Array:
        """Compute the column from values of the feature: (n,) to (n,)."""
        with np.errstate(all="ignore"):
            column = values.astype(self.dtype)
            for step in self.steps:
                column = step.apply(column)
        return column

    def then(self, step: Step) -> FeatureSteps:
        """Append a step; refuse one that is not monotone."""
        if not step.sign:
            raise RefusedError(f"the model computes {step.name} before its trees")
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Lookup of a chain's result in a table.

    Attributes
    ----------
    chain : FeatureSteps
    keys : (n_keys,)
        Ascending, without duplicates and NaN.
    values : (n_keys + 2,)
        Value for each key, for anything else, and for a missing value.
    is_strict : bool
        Whether the runtime refuses anything else.
    """

    chain: FeatureSteps
    keys: Array
    values: Array
    is_strict: bool

    @property
    def feature(self) -> int:
        """Feature of the chain."""
        return self.chain.feature

    @property
    def is_text(self) -> bool:
        """True for text."""
        return self.values.dtype == object

    def __call__(self, values: Array) -> Array:
        """Compute the column from values of the feature, none of which is refused: (n,) to (n,)."""
        looked_up, count = self.chain(values), len(self.keys)
        place = np.searchsorted(self.keys, looked_up).clip(max=max(count - 1, 0))
        is_known = self.keys[place] == looked_up if count else np.zeros(len(values), dtype=bool)
        place = np.where(is_known, place, count)
        if values.dtype.kind == "f":
            place[np.isnan(values)] = count + 1
        column: Array = self.values[place]
        return column

    def then(self, step: Step) -> Lookup:
        """Append a step, by applying it to the values."""
        with np.errstate(all="ignore"):
            return replace(self, values=step.apply(self.values))


Column: TypeAlias = FeatureSteps | Lookup


def lookup(
    column: Column, keys: Array, values: Array, default: Any, *, strict: bool = False
) -> Lookup:
    """Look a column up in a list.

    Parameters
    ----------
    keys, values : (n_keys,)
    default : what any other value, and a missing one that is no key, becomes
    strict : bool
        Whether the runtime refuses any other value instead.
    """
    if isinstance(column, Lookup):
        if strict:
            raise RefusedError("the model refuses some of the categories that it makes itself")
        return replace(column, values=_find(column.values, keys, values, default))
    is_number = np.array([key == key for key in keys], dtype=bool)  # noqa: PLR0124 - NaN is not
    known, first = np.unique(keys[is_number], return_index=True)
    others = _find(_missing(column), keys, values, default)
    rest = np.array([default, others[0]], dtype=values.dtype)
    return Lookup(column, known, np.append(values[is_number][first], rest), is_strict=strict)


def sum_of_lookups(columns: Sequence[Column]) -> Lookup:
    """Sum numbers that are looked up for one chain's result, by the same keys.

    Raises
    ------
    RefusedError
        Where they are none.
    """
    lookups = [column for column in columns if isinstance(column, Lookup) and not column.is_text]
    if not lookups or len(lookups) < len(columns):
        raise RefusedError("the model adds features before its trees")
    first = lookups[0]
    if any(own.chain != first.chain or not _has_keys(own, first.keys) for own in lookups):
        raise RefusedError("the model adds functions of several features before its trees")
    values = np.sum([own.values for own in lookups], axis=0, dtype=first.values.dtype)
    return replace(first, values=values, is_strict=any(own.is_strict for own in lookups))


def _has_keys(column: Lookup, keys: Array) -> bool:
    return np.array_equal(column.keys, keys)


def _missing(chain: FeatureSteps) -> Array:
    """Return the chain's result for a missing value: (1,); NaN for types without one."""
    return chain(np.array([np.nan])) if chain.dtype.kind == "f" else np.array([np.nan])


def _find(column: Array, keys: Array, values: Array, default: Any) -> Array:
    """Look up each value of a short column."""
    table = dict(zip(map(_hashable, keys.tolist()), values.tolist(), strict=True))
    results = [table.get(_hashable(item), default) for item in column.tolist()]
    return np.array(results, dtype=values.dtype)


def _hashable(item: Any) -> Any:
    """Return a key for a dict, in which NaN equals itself."""
    return None if item != item else item  # noqa: PLR0124 - finds NaN
