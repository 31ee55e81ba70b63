"""Reading of results: fields of equal names are copied by rule, all others are keywords."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_Result = TypeVar("_Result")


def read(kind: type[_Result], message: Any, /, **others: Any) -> _Result:
    """Make a result from the fields of a message that have the names of its own.

    Numbers and texts stay, enumerations become their names, lists of floats arrays, and other
    lists tuples.

    Parameters
    ----------
    kind : dataclass
    message : Message
    **others
        Fields with other names or forms.
    """
    names = {field.name for field in fields(kind)} - others.keys()  # type: ignore[arg-type] # a dataclass
    known = [field for field in message.DESCRIPTOR.fields if field.name in names]
    return kind(**{field.name: _value(message, field) for field in known}, **others)


def nan_if_empty(message: Any, *names: str) -> dict[str, npt.NDArray[np.float64]]:
    """Read lists that are empty where nothing was estimated: one number, or NaN, per value."""
    missing = [np.nan] * len(message.values)
    return {name: np.array(getattr(message, name) or missing) for name in names}


def _value(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    is_single = isinstance(value, int | float | str)
    if field.enum_type:
        named = tuple(_name(field.enum_type, n) for n in ((value,) if is_single else value))
        return named[0] if is_single else named
    if is_single:
        return value
    return np.array(value) if field.cpp_type == field.CPPTYPE_DOUBLE else tuple(value)


def _name(kind: Any, number: int) -> str:
    if number not in kind.values_by_number:
        raise ValueError(f"{kind.full_name} has no value {number}: update onnxplain")
    return str(kind.values_by_number[number].name)
