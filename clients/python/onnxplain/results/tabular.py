"""Base class of results: Arrow and pandas tables, JSON, and HTML for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa
from google.protobuf.message import Message

from onnxplain.results.canonical_json import to_json
from onnxplain.results.notebook import to_html

if TYPE_CHECKING:
    import pandas as pd


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
        """Return the rows of `to_arrow` as a frame; lists as tuples, which can be grouped by.

        Needs pandas: `pip install onnxplain[pandas]`.
        """
        table = self.to_arrow()
        frame: pd.DataFrame = table.to_pandas()
        for field in table.schema:
            if pa.types.is_list(field.type):
                frame[field.name] = frame[field.name].map(tuple)
        return frame

    def to_json(self) -> str:
        """Write it as the contract's canonical JSON."""
        return to_json(self.message)

    def _repr_html_(self) -> str:
        return to_html(self.to_arrow())
