"""Hive's partitions: columns whose values stand in the folders' names, as in "year=2026/x.parquet".

pyarrow's HivePartitioning was looked at: it knows whole numbers of 32 bits only, and takes files
without a key for files with a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

import pyarrow as pa

from onnxplain_server.adapters.sources.interfaces import SourceFile
from onnxplain_server.adapters.sources.tables.failures import invalid

_MISSING = "__HIVE_DEFAULT_PARTITION__"
_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True)
class Partitions:
    """Keys of all files, by file.

    Attributes
    ----------
    types : mapping of str to DataType
        int64 where all values are whole numbers, otherwise text; in the order of the folders.
    values : mapping of int to mapping
        Value of each key, None if missing, by the index of the file.
    texts : mapping of int to mapping
        The same as text, as it stands in the folders' names.
    """

    types: Mapping[str, pa.DataType]
    values: Mapping[int, Mapping[str, int | str | None]]
    texts: Mapping[int, Mapping[str, str | None]]

    def scalar(self, file: SourceFile, key: str) -> pa.Scalar:
        return pa.scalar(self.values[file.index][key], self.types[key])

    def without(self, names: Sequence[str]) -> Partitions:
        """Leave out keys, which the files hold as columns."""
        types = {key: kind for key, kind in self.types.items() if key not in names}
        return replace(self, types=types)

    def with_texts(self, names: Sequence[str]) -> Partitions:
        """Have keys as text, as it stands in the folders' names."""
        keys = [key for key in self.types if key in names]
        types = {**self.types, **dict.fromkeys(keys, pa.string())}
        values = {
            index: {**row, **{key: self.texts[index][key] for key in keys}}
            for index, row in self.values.items()
        }
        return replace(self, types=types, values=values)


def partitions(files: Sequence[SourceFile]) -> Partitions:
    """Read the keys of files from their paths.

    Raises
    ------
    ExplainError
        INVALID_TABLE if files have different keys.
    """
    texts = {file.index: _keys(file) for file in files}
    first = files[0]
    for file in files:
        if list(texts[file.index]) != list(texts[first.index]):
            raise invalid(
                f"folders must have the same keys for all files: {first.uri} has "
                f"{_listed(texts[first.index])}, and {file.uri} has {_listed(texts[file.index])}"
            )
    types = {key: _type([row[key] for row in texts.values()]) for key in texts[first.index]}
    values = {
        index: {key: _value(text, types[key]) for key, text in row.items()}
        for index, row in texts.items()
    }
    return Partitions(types, values, texts)


def _keys(file: SourceFile) -> dict[str, str | None]:
    keys: dict[str, str | None] = {}
    for folder in file.path.split("/")[:-1]:
        key, equals, value = folder.partition("=")
        if not (equals and key):
            continue
        if (key := unquote(key)) in keys:
            raise invalid(f"{file.uri} has the key {key!r} more than once in its folders")
        keys[key] = None if value == _MISSING else unquote(value)
    return keys


def _type(texts: Sequence[str | None]) -> pa.DataType:
    known = [text for text in texts if text is not None]
    are_numbers = known and all(_WHOLE_NUMBER.fullmatch(text) for text in known)
    return pa.int64() if are_numbers else pa.string()


def _value(text: str | None, kind: pa.DataType) -> int | str | None:
    return int(text) if text is not None and pa.types.is_integer(kind) else text


def _listed(keys: Mapping[str, str | None]) -> str:
    return ", ".join(map(repr, keys)) or "none"
