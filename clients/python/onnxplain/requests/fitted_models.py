"""Fitted models of scikit-learn: written as ONNX, and compared on rows of the table."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.fitted_trees import (
    INDEXED_OPSET,
    is_outlier_detector,
    own_converters,
    takes_doubles,
)
from onnxplain.requests.expected import with_expected
from onnxplain.requests.models import library_of
from onnxplain.results.predictions import PredictionComparison
from onnxplain.tables import arrow_of, to_table
from onnxplain.v1.explanation_service_pb2 import CheckModelRequest, CheckModelResponse
from onnxplain.v1.model_pb2 import Model

_ROW_LIMIT = 1_000
_NAMED_COUNT = 5
_MATRIX = "X"
"""Name of an input for all columns."""
_OPSETS = {"": 18, "ai.onnx.ml": 3}
"""Opsets to write; the last is the newest of trees that skl2onnx knows."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """Fitted model that was written as ONNX, and is yet to be compared.

    Attributes
    ----------
    name : str
        Its class.
    content : bytes
        The ONNX file.
    request : CheckModelRequest
        Compares its predictions with those of the fitted model, on some rows.
    row_indices : (n_rows,)
        These rows, from 0 in the table.
    """

    name: str
    content: bytes
    request: CheckModelRequest
    row_indices: npt.NDArray[np.int64]

    def checked(self, response: CheckModelResponse) -> Model:
        """Return the model, and tell how far its predictions are from the fitted model's.

        Raises
        ------
        ValueError
            Where they differ by more than rounding.
        """
        compared = PredictionComparison.from_message(response.comparison)
        if not compared.agrees:
            raise ValueError(self._refusal(compared))
        warnings.warn(
            f"{self.name} was written as ONNX; on {_rows(compared.row_count)} of the table, "
            f"its predictions differ by at most {compared.largest_difference:.1e}",
            stacklevel=4,
        )
        return Model(content=self.content)

    def _refusal(self, compared: PredictionComparison) -> str:
        count = compared.differing_row_count
        shown = sorted(row.row_index for row in compared.differing_rows)[:_NAMED_COUNT]
        more = f" and {count - len(shown):,} more" if count > len(shown) else ""
        named = ", ".join(str(self.row_indices[row]) for row in shown)
        causes = "".join(f" {cause.message}" for cause in compared.likely_causes)
        rounding = max(each.rounding for each in compared.outputs)
        return (
            f"{self.name} was written as a model that predicts otherwise on {count:,} of "
            f"{_rows(compared.row_count)} of the table, by up to "
            f"{compared.largest_difference:.2g}, where rounding explains {rounding:.2g}: "
            f"row{'s' * (count != 1)} {named}{more}, from 0; {_BY_HAND}.{causes}"
        )


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


_BY_HAND = "write it as ONNX by hand, and compare: docs/export.md"


def fitted_model(model: Any, table: Any, columns: Sequence[str] = ()) -> FittedModel | None:
    """Write a fitted model of scikit-learn as ONNX; None for any other model.

    None as well where skl2onnx is missing, and for a table that is not in this process: the model
    is then refused as others are. `columns` are the names of an array's columns.

    Raises
    ------
    TypeError
        Where skl2onnx cannot write it.
    """
    if library_of(model) != "sklearn" or not importlib.util.find_spec("skl2onnx"):
        return None
    try:
        rows = arrow_of(table, columns)
    except TypeError:
        return None
    taken = _features(model, rows)
    count = min(rows.num_rows, _ROW_LIMIT)
    if taken is None or not count:
        return None
    indices = np.linspace(0, rows.num_rows - 1, count).astype(np.int64)
    content = _written(model, taken)
    compared = taken.take(indices)
    rows_compared, columns = with_expected(compared, _predicted(model, compared))
    request = CheckModelRequest(
        model=Model(content=content),
        table=to_table(rows_compared),
        expected_prediction_columns=columns,
    )
    return FittedModel(type(model).__name__, content, request, indices)


def _features(model: Any, rows: pa.Table) -> pa.Table | None:
    """Return the columns that a model was fitted on, by their names; all of as many without."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        missing = [name for name in names if name not in rows.column_names]
        if missing:
            raise TypeError(
                f"{type(model).__name__} was fitted on the column {missing[0]!r}, which the table "
                "lacks"
            )
        return rows.select([*map(str, names)])
    count = getattr(model, "n_features_in_", None)
    return rows if count == rows.num_columns else None


def _predicted(model: Any, rows: pa.Table) -> npt.NDArray[np.float64]:
    """Return predictions, of a classifier the probabilities: (n_rows, n_outputs)."""
    is_named = getattr(model, "feature_names_in_", None) is not None
    given = rows.to_pandas() if is_named else np.column_stack([*map(np.asarray, rows.columns)])
    is_detector = is_outlier_detector(model)
    predict = (
        model.predict_proba
        if _is_classifier(model)
        else model.decision_function
        if is_detector
        else model.predict
    )
    values = np.asarray(predict(given), np.float64)
    return values.reshape(len(values), -1)


def _is_classifier(model: Any) -> bool:
    return hasattr(model, "predict_proba")


def _written(model: Any, rows: pa.Table) -> bytes:
    """Write a model with an input for each column, or one of all, where it takes only such."""
    fields = rows.schema
    texts = [not _is_number(field.type) for field in fields]
    is_named = getattr(model, "feature_names_in_", None) is not None
    ways = []
    for number, text in _input_types(model):
        if is_named:
            types = (text if is_text else number for is_text in texts)
            inputs = [(own.name, t([None, 1])) for own, t in zip(fields, types, strict=True)]
            ways.append((inputs, False))
        if not any(texts):
            ways.append(([(_MATRIX, number([None, len(fields)]))], True))
    failure: Exception | None = None
    for inputs, is_matrix in ways:
        try:
            made = _converted(model, inputs)
        except Exception as error:  # noqa: BLE001 - those of skl2onnx have no common base
            failure = error
            continue
        if is_matrix:
            made.metadata_props.add(key="feature_names", value=json.dumps(rows.column_names))
        else:
            _rename(made.graph, rows.column_names)
        return bytes(made.SerializeToString())
    reason = str(failure).strip().partition("\n")[0] or type(failure).__name__
    raise TypeError(f"skl2onnx cannot write {type(model).__name__}: {reason}; {_BY_HAND}")


def _input_types(model: Any) -> Iterator[tuple[Any, Any]]:
    """Yield types for numbers and for texts, the better ones first."""
    from skl2onnx.common.data_types import (  # noqa: PLC0415
        DoubleTensorType,
        FloatTensorType,
        StringTensorType,
    )

    if takes_doubles(model):
        yield DoubleTensorType, StringTensorType
    yield FloatTensorType, StringTensorType


def _converted(model: Any, inputs: Sequence[tuple[str, Any]]) -> Any:
    """Convert a model, its trees by `fitted_trees` where skl2onnx has none that hold."""
    from skl2onnx import convert_sklearn  # noqa: PLC0415

    options = {id(model): {"zipmap": False}} if _is_classifier(model) else None
    made = convert_sklearn(
        model,
        initial_types=inputs,
        options=options,
        target_opset=_OPSETS,
        **own_converters(model),
    )
    if any(node.op_type == "TreeEnsemble" for node in made.graph.node):
        for used in made.opset_import:
            if used.domain == "ai.onnx.ml":
                used.version = INDEXED_OPSET
    if is_outlier_detector(model):
        _keep_scores(made.graph)
    if takes_doubles(model):  # its trees have no faults of skl2onnx
        made.producer_name, made.producer_version = "onnxplain", version("onnxplain")
    return made


def _keep_scores(graph: Any) -> None:
    """Take out the label of an outlier detector, which is the sign of its score."""
    scores = graph.output[-1]
    del graph.output[:-1]
    needed = {scores.name}
    for node in reversed([*graph.node]):
        if needed.intersection(node.output):
            needed.update(node.input)
        else:
            graph.node.remove(node)


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _rename(graph: Any, names: Sequence[str]) -> None:
    """Give inputs the names of their columns: skl2onnx writes letters and digits only."""
    renamed = {given.name: name for given, name in zip(graph.input, names, strict=True)}
    for given in graph.input:
        given.name = renamed[given.name]
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
