"""Base class of results: Arrow and pandas tables, JSON, and HTML for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from google.protobuf.message import Message

from onnxplain.display.tables import to_html
from onnxplain.results.canonical_json import to_json
from onnxplain.results.plots import Plot
from onnxplain.results.provenance import ClassPairing, RowsUsed
from onnxplain.results.reading import read
from onnxplain.v1.explanation_service_pb2 import Explanation

if TYPE_CHECKING:
    import pandas as pd

_Result = TypeVar("_Result")


class Tabular(ABC):
    """Result with tidy rows.

    Attributes
    ----------
    message : Message
        As the server sent it.
    """

    __slots__ = ()

    message: Message

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return tidy rows: one per number, and a column for each thing that tells them apart."""

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of `to_arrow` as a frame.

        Needs pandas: `pip install onnxplain[pandas]`.
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_json(self) -> str:
        """Write it as the contract's canonical JSON."""
        return to_json(self.message)

    def _repr_html_(self) -> str:
        return to_html(self.to_arrow())


def joined(features: Iterable[str]) -> str:
    """Name features as one text, like "age × bmi", as the tables of the command line do."""
    return " × ".join(features)


def to_rows(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Make a table of rows, each in the order of the schema."""
    return pa.Table.from_pylist(
        [dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema
    )


def read_result(kind: type[_Result], explanation: Explanation, /, **others: Any) -> _Result:
    """Make the result of a method, with what all results have."""
    method = str(explanation.WhichOneof("result"))
    message = getattr(explanation, method)
    others |= {
        "plots": tuple(Plot.from_message(plot) for plot in explanation.plots),
        "options": getattr(explanation.options, method),
        "rows": RowsUsed.from_message(explanation),
        "message": message,
    }
    if explanation.class_pairings:
        others["class_pairings"] = ClassPairing.from_messages(explanation)
    return read(kind, message, **others)
