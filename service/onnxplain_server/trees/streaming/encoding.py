"""Encoding of values as bytes: listed classes, plain values and arrays; nothing is ever executed.

A value becomes a tree in JSON, whose leaves name arrays of an npz file, NumPy's own format, written
and read without pickle. Decoding makes instances of the listed classes only. Numbers keep their
bits, and arrays their type and their order in memory, so what is computed of a decoded value has
the bits of what is computed of the value itself.
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Array

_TREE = "tree"
_ATTEMPTS = 5


def _read(arrays: Mapping[str, Array], name: str) -> Array:
    """Read an array, again where CPython 3.11 fails to parse its header beside another thread.

    It counts the depth of what `ast` parses for all threads together (gh-106905).
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(SystemError):
            return arrays[name]
    return arrays[name]


class Encoding:
    """Encoder and decoder of values.

    Parameters
    ----------
    classes : iterable of type
        Dataclasses, named tuples and enumerations, of different names, that values may be made of.
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self._classes: Mapping[str, type] = {each.__name__: each for each in classes}

    def encode(self, value: Any) -> bytes:
        """Encode a value.

        Raises
        ------
        TypeError
            Where it is made of another class.
        """
        arrays: dict[str, Array] = {}
        tree = json.dumps(self._to_tree(value, arrays))
        arrays[_TREE] = np.frombuffer(tree.encode(), np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    def decode(self, encoded: bytes) -> Any:
        """Decode the output of `encode`.

        Raises
        ------
        ValueError, KeyError, TypeError, zipfile.BadZipFile
            Where it is damaged, or made of other classes.
        """
        with np.load(io.BytesIO(encoded), allow_pickle=False) as arrays:
            return self._from_tree(json.loads(_read(arrays, _TREE).tobytes()), arrays)

    def _to_tree(self, value: Any, arrays: dict[str, Array]) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if type(value) in {list, tuple}:
            return self._each(value, arrays)
        if isinstance(value, np.ndarray):
            return self._of_array(value, arrays)
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, dict):
            return {"dict": self._each(value.items(), arrays)}
        return self._of_class(value, arrays)

    def _of_class(self, value: Any, arrays: dict[str, Array]) -> Any:
        if isinstance(value, frozenset):
            return {"set": self._each(sorted(value), arrays)}
        name = type(value).__name__
        if self._classes.get(name) is not type(value):
            raise TypeError(f"a {name} cannot be encoded")
        return {name: self._each([getattr(value, f) for f in _fields(type(value))], arrays)}

    def _each(self, values: Iterable[Any], arrays: dict[str, Array]) -> list[Any]:
        return [self._to_tree(value, arrays) for value in values]

    def _of_array(self, value: Array, arrays: dict[str, Array]) -> Any:
        if value.dtype == object:
            return {"texts": [str(each) for each in value]}
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}

    def _from_tree(self, tree: Any, arrays: Mapping[str, Array]) -> Any:
        """Build a value; sequences become tuples."""
        if isinstance(tree, list):
            return tuple(self._from_tree(each, arrays) for each in tree)
        if not isinstance(tree, dict):
            return tree
        ((name, content),) = tree.items()
        if name == "array":
            return _read(arrays, content)
        if name == "texts":
            return np.array(content, dtype=object)
        parts = self._from_tree(content, arrays)
        if name in _PLAIN:
            return _PLAIN[name](parts)
        return self._classes[name](*parts)


_PLAIN: Mapping[str, Callable[[Any], Any]] = {"dtype": np.dtype, "dict": dict, "set": frozenset}


def _fields(of: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(of):
        return tuple(field.name for field in dataclasses.fields(of))
    if issubclass(of, Enum):
        return ("value",)
    names: tuple[str, ...] = of._fields  # type: ignore[attr-defined] # of named tuples
    return names
