"""Argument types of kernels, read from their annotations and checked at each call.

Compiled code trusts its callers: it would read an array of another type or shape as garbage.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from onnxplain_server.core.arrays import Dimensions

_SCALARS: dict[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (float,),
}
"""Classes whose values a scalar accepts; numpy's float64 is a float."""


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A bool, an int of 64 bits or a float of 64 bits."""

    kind: type

    def accepts(self, value: Any) -> bool:
        """Return whether a value has this type."""
        return isinstance(value, _SCALARS[self.kind])


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A contiguous, writable array."""

    dtype: np.dtype[Any]
    dimensions: int

    def accepts(self, value: Any) -> bool:
        """Return whether a value has this type."""
        return (
            isinstance(value, np.ndarray)
            and value.dtype == self.dtype
            and value.ndim == self.dimensions
            and value.flags.carray
        )


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple, or a named tuple."""

    kind: type[tuple[Any, ...]]
    members: tuple[ArgumentType, ...]

    def accepts(self, value: Any) -> bool:
        """Return whether a value has this type."""
        if not isinstance(value, self.kind):
            return False
        return len(value) == len(self.members) and all(
            kind.accepts(each) for kind, each in zip(self.members, value, strict=True)
        )


ArgumentType: TypeAlias = ScalarType | ArrayType | TupleType


def argument_types(function: Callable[..., Any]) -> dict[str, ArgumentType]:
    """Read the types of a function's parameters from its annotations.

    Raises
    ------
    TypeError
        For an annotation that leaves the type or the number of dimensions open.
    """
    hints = get_type_hints(function, include_extras=True)
    return {name: _read(hints.get(name)) for name in inspect.signature(function).parameters}


def _number(array: Any) -> np.dtype[Any]:
    """Return the type of the numbers of an `NDArray`, an alias that NumPy expands until 2.4."""
    arguments = get_args(array)
    (number,) = get_args(arguments[1]) if get_origin(array) is np.ndarray else arguments
    kind: np.dtype[Any] = np.dtype(number)
    return kind


def _read(annotation: Any) -> ArgumentType:
    if annotation in _SCALARS:
        return ScalarType(annotation)
    if get_origin(annotation) is Annotated:
        array, *notes = get_args(annotation)
        dimensions = [each.count for each in notes if isinstance(each, Dimensions)]
        if dimensions:
            return ArrayType(_number(array), *dimensions)
    if get_origin(annotation) is tuple:
        return TupleType(tuple, tuple(_read(each) for each in get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        fields = get_type_hints(annotation, include_extras=True)
        return TupleType(annotation, tuple(_read(fields[name]) for name in annotation._fields))  # type: ignore[attr-defined]
    raise TypeError(f"{annotation} is no type that a kernel accepts")
