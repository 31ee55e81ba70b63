"""Models and tables where they lie: addresses in place of files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from onnxplain.v1 import table_pb2
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table, TableFilter
from onnxplain.v1.upload_pb2 import UploadTableRequest

_URI = re.compile(r"(?:s3|gs|https|file)://|models:/")

FilterValue: TypeAlias = str | float | bool
"""Value of a filter: text as it stands in the table, a number, true or false."""

TableFormat: TypeAlias = Literal["arrow", "parquet", "csv"]

_COMPARISONS: Mapping[str, str] = {
    "==": "EQUAL",
    "!=": "NOT_EQUAL",
    "<": "LESS",
    "<=": "LESS_OR_EQUAL",
    ">": "GREATER",
    ">=": "GREATER_OR_EQUAL",
}


def is_uri(text: str) -> bool:
    """Return whether a text is an address that a server reads, and no path of a file."""
    return _URI.match(text) is not None


@dataclass(frozen=True, slots=True)
class ModelUri:
    """Model where it lies, in place of the model.

    Attributes
    ----------
    uri : str
        Like "s3://bucket/model.onnx" or "models:/churn@champion"; see `Model.uri` of the contract.
    sha256 : str
        64 hexadecimal digits that the file must have; empty for any file.
    """

    uri: str
    sha256: str = ""

    @property
    def name(self) -> str:
        """Last part of the address, for titles."""
        return self.uri.rstrip("/").rpartition("/")[2]

    def to_message(self) -> Model:
        """Write the message of the contract."""
        return Model(uri=self.uri, sha256=self.sha256)


@dataclass(frozen=True, slots=True)
class TableUris:
    """Table where it lies, in place of the table.

    Attributes
    ----------
    uris : str or sequence of str
        Addresses of files, and of folders with a slash at the end.
    format : "arrow", "parquet" or "csv"
        Of all files; default: what their names end in.
    filters : sequence of (column, comparison, value or values)
        Conditions that each row meets, like ("year", "==", 2026) or ("region", "==", ["n", "s"]).
        Comparisons are ==, !=, <, <=, > and >=.
    """

    uris: str | Sequence[str]
    format: TableFormat | None = None
    filters: Sequence[tuple[str, str, FilterValue | Sequence[FilterValue]]] = field(default=())

    def to_message(self) -> Table:
        """Write the message of the contract.

        Raises
        ------
        ValueError
            For another format or comparison.
        """
        formats = [name for name, _ in UploadTableRequest.Format.items() if name != _NO_FORMAT]
        if self.format is not None and self.format.upper() not in formats:
            choices = ", ".join(name.lower() for name in formats)
            raise ValueError(f"format must be one of {choices}, not {self.format!r}")
        return Table(
            uris=table_pb2.TableUris(
                uris=[self.uris] if isinstance(self.uris, str) else self.uris,
                format=(self.format or _NO_FORMAT).upper(),
                filters=[_filter(*condition) for condition in self.filters],
            )
        )


_NO_FORMAT = "FORMAT_UNSPECIFIED"


def _filter(
    column: str, comparison: str, value: FilterValue | Sequence[FilterValue]
) -> TableFilter:
    if comparison not in _COMPARISONS:
        raise ValueError(f"a filter compares by {', '.join(_COMPARISONS)}, not by {comparison!r}")
    values = [value] if isinstance(value, str | float | int) else value
    return TableFilter(
        column=column,
        comparison=_COMPARISONS[comparison],
        values=[_text(item) for item in values],
    )


def _text(value: FilterValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
