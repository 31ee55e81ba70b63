"""Columns of many files: one name, one type, refused where files differ in what is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from onnxplain_server.adapters.sources.interfaces import SourceFile
from onnxplain_server.adapters.sources.tables.failures import invalid


class FileSchemas:
    """Schemas of the files of a table.

    Parameters
    ----------
    schemas : sequence of (SourceFile, Schema)
        At least one, in the order of the files.
    are_inferred : bool
        Whether types are those that a reader found in text: then whole numbers of one file and
        others of another are numbers.
    """

    def __init__(
        self, schemas: Iterable[tuple[SourceFile, pa.Schema]], *, are_inferred: bool = False
    ) -> None:
        self._distinct: dict[pa.Schema, tuple[SourceFile, dict[str, pa.DataType]]] = {}
        self._are_inferred = are_inferred
        for file, schema in schemas:
            plain = pa.schema([(field.name, field.type) for field in schema])
            if plain not in self._distinct:
                _check_names(file, plain)
                self._distinct[plain] = (file, dict(zip(plain.names, plain.types, strict=True)))
        every = (name for _, types in self._distinct.values() for name in types)
        self.names: Sequence[str] = list(dict.fromkeys(every))

    def types(self, names: Iterable[str]) -> Mapping[str, pa.DataType]:
        """Return the type that columns have in all files.

        Raises
        ------
        ExplainError
            INVALID_TABLE if a file lacks one, or has it with another type.
        """
        return {name: self._type(name) for name in names}

    def _type(self, name: str) -> pa.DataType:
        known: list[tuple[SourceFile, pa.DataType]] = []
        for file, types in self._distinct.values():
            if name not in types:
                having = next(f for f, found in self._distinct.values() if name in found)
                raise invalid(f"{file.uri} lacks column {name!r}, which {having.uri} has")
            known.append((file, types[name]))
        if (common := self._common([kind for _, kind in known])) is not None:
            return common
        (first, kind), (other, another) = _different(known)
        raise invalid(
            f"column {name!r} is {kind} in {first.uri} and {another} in {other.uri}; "
            "write all files with one type"
        )

    def _common(self, types: Sequence[pa.DataType]) -> pa.DataType | None:
        """Return the type that holds all values of columns as they are; None without one."""
        distinct = set(types)
        if len(distinct) == 1:
            return types[0]
        # A column without any value has no type of its own; categories are encoded by file.
        values = {_decoded(kind) for kind in distinct if not pa.types.is_null(kind)}
        if self._are_inferred and values == {pa.int64(), pa.float64()}:
            return pa.float64()
        return values.pop() if len(values) == 1 else None


def conform(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return columns in the order and with the types given; the table has them all."""
    columns = [
        column if (column := table.column(name)).type == kind else column.cast(kind)
        for name, kind in types.items()
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(list(types.items())))


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _different(
    known: Sequence[tuple[SourceFile, pa.DataType]],
) -> Sequence[tuple[SourceFile, pa.DataType]]:
    """Return the first two files whose types are neither the same nor unknown."""
    typed = [pair for pair in known if not pa.types.is_null(pair[1])]
    first = typed[0]
    return first, next(pair for pair in typed if _decoded(pair[1]) != _decoded(first[1]))


def _check_names(file: SourceFile, schema: pa.Schema) -> None:
    twice = sorted(name for name, count in Counter(schema.names).items() if count > 1)
    if twice:
        raise invalid(f"columns need different names; {file.uri} has {twice[0]!r} more than once")
