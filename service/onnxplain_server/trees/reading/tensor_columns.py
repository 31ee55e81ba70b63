"""Columns of a table on their way through a graph: each a function of one feature.

A column is either a `FeatureSteps` of monotone steps on the feature, or a `Lookup` of what a chain
gives in a list of known keys. Values are computed as the runtime does, in the same types and
order, so that a comparison with a threshold comes out the same for every value.
"""

from __future__ import annotations

from collections.abc import Callable
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
        (n,) to (n,), value by value.
    sign : int
        1 where it never falls, -1 where it never rises, 0 for anything else; on numbers,
        NaN apart.
    name : str
        Of the operator.
    """

    apply: Callable[[Array], Array]
    sign: int
    name: str


@dataclass(frozen=True, slots=True)
class FeatureSteps:
    """Steps on a feature.

    Attributes
    ----------
    feature : int
    dtype : numpy dtype
        In which the model takes the feature.
    steps : tuple of Step
        Monotone.
    """

    feature: int
    dtype: DType
    steps: tuple[Step, ...] = ()

    @property
    def sign(self) -> int:
        """Whether the column rises (1) or falls (-1) with the feature."""
        return int(np.prod([step.sign for step in self.steps], dtype=int))

    @property
    def is_text(self) -> bool:
        """Whether it holds text."""
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
    """A column that is looked up by what a chain gives.

    Attributes
    ----------
    chain : FeatureSteps
    keys : (n_keys,)
        Ascending, each once, without NaN.
    values : (n_keys + 2,)
        For each key; for anything else; for a missing value.
    is_strict : bool
        Whether the runtime refuses anything else.
    """

    chain: FeatureSteps
    keys: Array
    values: Array
    is_strict: bool

    @property
    def feature(self) -> int:
        """The feature looked up."""
        return self.chain.feature

    @property
    def is_text(self) -> bool:
        """Whether it holds text."""
        return self.values.dtype == object

    def then(self, step: Step) -> Lookup:
        """Append a step: it changes the values."""
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


def _missing(chain: FeatureSteps) -> Array:
    """What a missing value becomes: (1,); for types that have none, whatever."""
    return chain(np.array([np.nan])) if chain.dtype.kind == "f" else np.array([np.nan])


def _find(column: Array, keys: Array, values: Array, default: Any) -> Array:
    """Look up each of a few values."""
    table = dict(zip(map(_hashable, keys.tolist()), values.tolist(), strict=True))
    found = [table.get(_hashable(item), default) for item in column.tolist()]
    return np.array(found, dtype=values.dtype)


def _hashable(item: Any) -> Any:
    """NaN is a key like any other."""
    return None if item != item else item  # noqa: PLR0124 - finds NaN
