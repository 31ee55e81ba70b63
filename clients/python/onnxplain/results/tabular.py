"""Base class of results: Arrow and pandas tables, JSON, and HTML for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from google.protobuf.message import Message

from onnxplain.columns import feature_columns, stack
from onnxplain.display.tables import to_html
from onnxplain.results.canonical_json import to_json
from onnxplain.results.origins import ClassPairing, Conclusion, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import read
from onnxplain.v1.explanation_service_pb2 import Explanation

if TYPE_CHECKING:
    import pandas as pd

BAND_COLUMNS = ("standard_error", "lower", "upper", "simultaneous_lower", "simultaneous_upper")
"""Columns of tables; null without intervals."""
BAND_FIELDS = ("standard_errors", *BAND_COLUMNS[1:])
"""Attributes of curves: (n_points, n_outputs), or (0, n_outputs) without intervals."""

_Result = TypeVar("_Result")

_OPTIONAL = (
    "standard_error", "lower", "upper", "bias", "p_value", "numerator_error",
    "simultaneous_lower", "simultaneous_upper",
    "feature_1", "feature_2", "feature_3", "group_1", "group_2",
)  # fmt: skip
"""Columns that are empty unless rows were resampled, permuted or interpolated; of features that act
together, and of groups by columns, those of the others."""


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

    def to_pandas(self, *, output: str | None = None) -> pd.DataFrame:
        """Return tidy rows as a frame, without columns that were not asked for.

        Columns of errors, intervals and tests are there only where any of them was computed.
        Needs pandas: `pip install onnxplain[pandas]`.

        Parameters
        ----------
        output : str, optional
            Only the rows of this output, without the column `output`. Default: all outputs, each
            with rows of its own.

        Raises
        ------
        ValueError
            Where there is no such output.
        """
        frame = self._frame()
        empty = [name for name in _OPTIONAL if name in frame and frame[name].isna().all()]
        frame = frame.drop(columns=empty)
        if output is None:
            return frame
        names = list(frame["output"].unique()) if "output" in frame else []
        if output not in names:
            known = ", ".join(map(repr, names)) or "none: its rows belong to no output"
            raise ValueError(f"there is no output {output!r}; there are: {known}")
        return frame[frame["output"] == output].drop(columns="output").reset_index(drop=True)

    def _frame(self) -> pd.DataFrame:
        return to_frame(self.to_arrow())

    def to_json(self) -> str:
        """Write it as the contract's canonical JSON."""
        return to_json(self.message)

    def _repr_html_(self) -> str:
        return to_html(self.to_arrow())


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame; ModuleNotFoundError tells how to install pandas."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        message = "to_pandas() needs pandas: pip install pandas; to_arrow() needs nothing more"
        raise ModuleNotFoundError(message, name="pandas") from None
    return frame


def joined(features: Iterable[str]) -> str:
    """Name features as one text, like "age × bmi", as the tables of the command line do."""
    return " × ".join(features)


def parts(features: Sequence[str], count: int) -> tuple[str | None, ...]:
    """Return the names of features one by one, None in the place of further ones."""
    return (*features, *[None] * (count - len(features)))


class OfFeatures(Protocol):
    """Curves of some features."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""

    def to_arrow(self) -> pa.Table:
        """Return rows with a column for each of the features."""


def band_columns(curve: Any) -> dict[str, pa.Array]:
    """Return the bands of a curve, one number per point and output."""
    columns = {}
    for name, field in zip(BAND_COLUMNS, BAND_FIELDS, strict=True):
        numbers = getattr(curve, field)
        found = numbers.reshape(-1) if numbers.size else np.full(curve.values.size, np.nan)
        columns[name] = pa.array(found, pa.float64(), mask=np.isnan(found) & (not numbers.size))
    return columns


def curves_frame(curves: Sequence[OfFeatures], own: Sequence[str]) -> pd.DataFrame:
    """Put the rows of curves under each other, in columns that all of them have.

    Parameters
    ----------
    own : sequence of str
        Columns beside the features, of which the first is added here.

    Returns
    -------
    pandas.DataFrame
        Columns `curve`, its index, `features` ("age", or "age × bmi"), `at`, the value of the
        feature, or of several a tuple, and those of `own`.
    """
    tables = [curve.to_arrow() for curve in curves]
    texts: list[str] = []
    at: list[Any] = []
    for curve, table in zip(curves, tables, strict=True):
        columns = [table[name].to_pylist() for name in feature_columns(curve.features, own)]
        at += columns[0] if len(columns) == 1 else zip(*columns, strict=True)
        texts += [joined(curve.features)] * table.num_rows
    frame = to_frame(stack(tables, own).select(list(own)))
    frame.insert(1, "features", texts)
    frame.insert(2, "at", at)
    return frame


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
    if explanation.conclusions:
        others["conclusions"] = Conclusion.from_messages(explanation)
    if explanation.class_pairings:
        others["class_pairings"] = ClassPairing.from_messages(explanation)
    return read(kind, message, **others)
