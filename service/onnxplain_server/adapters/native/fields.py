"""Fields of a document (JSON or UBJSON): values by name, each checked for type and length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, quoted
from onnxplain_server.core.arrays import Array, Indices, Vector

_MISSING = object()


class Fields:
    """Object of a document.

    Parameters
    ----------
    value : object
        As the parser gave it.
    path : str
        Where it stands in the document, for messages.

    Raises
    ------
    ExplainError
        INVALID_MODEL that names the path, where a value is missing or of another type: the
        constructor and all methods.
    """

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, Mapping):
            raise invalid(f"The model's {path or 'content'} is no object with fields.")
        self._values: Mapping[str, Any] = value
        self._path = path

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def child(self, name: str, path: str = "") -> Fields:
        """Return an object inside; by default, its path is that of its name."""
        return Fields(self._get(name), path or self.path_of(name))

    def children(self, name: str) -> Iterator[Fields]:
        """Yield the objects of a list."""
        path = self.path_of(name)
        for i, value in enumerate(self.items(name)):
            yield Fields(value, f"{path}[{i}]")

    def items(self, name: str) -> list[Any]:
        """Return a list, whatever is in it."""
        value = self._get(name)
        if isinstance(value, np.ndarray):
            return list(value.tolist())
        if not isinstance(value, list):
            raise self.fault(name, "is no list")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text."""
        value = self._get(name, default)
        if not _is_text(value):
            raise self.fault(name, "is no text")
        return value

    def truth(self, name: str) -> bool:
        """Return a truth value."""
        value = self._get(name)
        if not isinstance(value, bool):
            raise self.fault(name, "is neither true nor false")
        return value

    def number(self, name: str) -> float:
        """Return a number that float64 holds."""
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(name, "is no number")
        try:
            return float(value)
        except OverflowError:
            raise self.fault(name, "is beyond the range of float64") from None

    def has_value(self, name: str) -> bool:
        """Return whether there is a value other than null."""
        return self._values.get(name) is not None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty where there is none."""
        values = self.items(name) if name in self else []
        if not all(map(_is_text, values)):
            raise self.fault(name, "is no list of texts")
        return tuple(values)

    def integer(
        self, name: str, default: int | None = None, *, low: int = 0, high: int = 2**31
    ) -> int:
        """Return an integer in [low, high), which may be written as text."""
        value = self._get(name, default)
        if isinstance(value, str) and len(value) <= 20:
            value = self._parsed(name, value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fault(name, "is no integer")
        if not low <= value < high:
            raise self.fault(name, f"is {value}, which is not in [{low}, {high})")
        return value

    def one_or_more(self, name: str) -> Vector:
        """Return a list of numbers, or a number as a list of one."""
        value = self._get(name)
        is_list = isinstance(value, list | np.ndarray)
        return self.numbers(name) if is_list else np.array([self.number(name)])

    def integers(self, name: str, length: int | None = None) -> Indices:
        """Return a list of integers; truth values count as 0 and 1."""
        values = self._array(name, length)
        if values.dtype.kind not in "iub":
            raise self.fault(name, "is no list of integers")
        return values.astype(np.int64)

    def numbers(self, name: str, length: int | None = None) -> Vector:
        """Return a list of numbers."""
        values = self._array(name, length)
        if values.dtype.kind not in "iuf":
            raise self.fault(name, "is no list of numbers")
        return values.astype(np.float64)

    def path_of(self, name: str) -> str:
        """Return where a field stands."""
        return f"{self._path}.{name}" if self._path else name

    def fault(self, name: str, what: str) -> Exception:
        """Build INVALID_MODEL about a field."""
        return invalid(f"The model's {self.path_of(name)} {what}.")

    def _get(self, name: str, default: object = None) -> Any:
        value = self._values.get(name, _MISSING if default is None else default)
        if value is _MISSING:
            raise self.fault(name, "is missing")
        return value

    def _parsed(self, name: str, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise self.fault(name, f"is {quoted(text)}, which is no integer") from None

    def _array(self, name: str, length: int | None) -> Array:
        value = self._get(name)
        if not isinstance(value, list | np.ndarray):
            raise self.fault(name, "is no list")
        if length is not None and len(value) != length:
            raise self.fault(name, f"has {len(value):,} values instead of {length:,}")
        try:
            values = np.asarray(value) if len(value) else np.zeros(0, dtype=np.int64)
        except (ValueError, OverflowError):
            raise self.fault(name, "is no plain list") from None
        if values.ndim != 1:
            raise self.fault(name, "is no plain list")
        return values


def _is_text(value: object) -> TypeGuard[str]:
    """Return whether a value is a text that UTF-8 holds; halves of surrogate pairs are none."""
    return isinstance(value, str) and (
        value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    )
