"""Reader of rows that platforms send to an explainer, and of the parameters beside them.

KServe's first protocol   {"instances": [...], "parameters": {...}}
Open Inference Protocol   {"inputs": [{"name", "shape", "datatype", "data"}], "parameters": {...}},
                          also with the data as bytes behind the JSON, and as ModelInferRequest
MLflow                    {"dataframe_split": ..., "params": {...}}, its other forms, and CSV

The rows become the first of the table, of weight 0; the explainer's background follows. So rows
have the numbers that their sender knows, and no part in grids and averages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from werkzeug.http import parse_options_header

from onnxplain_server.core.contract_limits import IndividualConditionalExpectationOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire import canonical
from onnxplain_server.wire.explained.explained_columns import cells_of, put_first, row_count_of
from onnxplain_server.wire.inference.binary_tensors import read_binary
from onnxplain_server.wire.inference.infer_request import read_infer_request
from onnxplain_server.wire.kept_parts import separate_parts
from onnxplain_server.wire.media_types import BINARY_TENSORS, CSV_TYPES, INFER_REQUEST, JSON_LENGTH
from onnxplain_server.wire.rest_table import FORMS, TABLE_SHAPES
from onnxplain_server.wire.scanning.json_reader import ANY, JsonReader, MessageShape, ObjectShape

GLOBAL = "global"
"""Parameter that asks for explanations of the model on the background, without rows."""

_PARAMETERS = ("parameters", "params")
_ENVELOPE = {"id", "outputs", "model_name", "model_version", "signature_name"}
"""Fields of the protocols that change no explanation."""

_OF_OPERATOR = (
    *("model", "table", "feature_columns", "target_column", "weight_column"),
    *("cluster_column", "target_columns", "model_name", "partial", "result_uri"),
)
"""Fields of a request that the operator's settings decide, or that need another way to answer."""


class RowsNamed(Enum):
    """Rows that the options of a method name, where all rows of a request are explained."""

    TOGETHER = "all of them"
    ONE_BY_ONE = "one: each row has a method of its own"


_ROWS_NAMED: Mapping[str, RowsNamed] = {
    "attributions": RowsNamed.TOGETHER,
    "individual_conditional_expectation": RowsNamed.TOGETHER,
    "feature_vectors": RowsNamed.ONE_BY_ONE,
}
"""Methods that explain single rows; others explain the model."""

_KEPT = MethodOptions(interactions=InteractionsOptions())
"""Method whose answer an explainer keeps."""

_ROW_LIMIT = IndividualConditionalExpectationOptions.row_indices.max_items or 0


def read(media_type: str, content: bytes) -> tuple[ExplainRequest, bool]:
    """Read a body behind the explainer's template, joined by `join_parts`.

    The template is an ExplainRequest with the background as columns, the roles of columns, and
    the methods of a body that names none.

    Returns
    -------
    request : ExplainRequest
    takes_interactions : bool
        See `RequestParts`.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, INVALID_TABLE, MISSING_COLUMN, WRONG_TYPE.
    """
    template, body = separate_parts(content)
    request = ExplainRequest.FromString(template)
    document = _document(media_type, body)
    parameters = _parameters(document)
    is_global = _is_global(parameters)
    forms = [name for name in (*FORMS, "csv") if name in document]
    _check_forms(document, forms)
    row_count = _put_rows(request, forms, document)
    if is_global:
        _check_no_rows(row_count)
    elif not row_count:
        raise _invalid(f'there is no row to explain; send rows, or the parameter "{GLOBAL}": true')
    return request, _put_parameters(request, parameters, row_count)


def _document(media_type: str, body: bytes) -> dict[str, Any]:
    kind, options = parse_options_header(media_type)
    if kind == BINARY_TENSORS:
        return read_binary(body, int(options[JSON_LENGTH]), BODY)
    if kind == INFER_REQUEST:
        return read_infer_request(body)
    if kind in CSV_TYPES:
        try:
            return {"csv": body.decode()}
        except UnicodeDecodeError:
            raise ExplainError(Reason.INVALID_TABLE, "the CSV is not UTF-8", "csv") from None
    return canonical.read_object(body, BODY)


def _parameters(document: dict[str, Any]) -> dict[str, Any]:
    """Take the parameters out of a document."""
    given = [name for name in _PARAMETERS if document.get(name) is not None]
    if len(given) > 1:
        raise _invalid("give parameters or params, not both", given[1])
    parameters: Any = document.pop(given[0]) if given else {}
    for name in _PARAMETERS:
        document.pop(name, None)
    if not isinstance(parameters, dict):
        raise _invalid(f"{given[0]} must be an object", given[0])
    # Parameters of the Open Inference Protocol are texts, numbers and booleans.
    methods = parameters.get("methods")
    if isinstance(methods, str):
        parameters["methods"] = canonical.read_object(b'{"methods": %s}' % methods.encode())[
            "methods"
        ]
    return parameters


def _is_global(parameters: dict[str, Any]) -> bool:
    """Take the parameter GLOBAL out of the others."""
    value = parameters.pop(GLOBAL, False)
    if not isinstance(value, bool):
        raise _invalid(f"{GLOBAL} must be true or false", f"parameters.{GLOBAL}")
    return value


def _check_forms(document: Mapping[str, Any], forms: list[str]) -> None:
    if len(forms) > 1:
        raise _invalid(f"the rows stand in {' and in '.join(forms)}; send one of them", forms[1])
    unknown = sorted(document.keys() - _ENVELOPE - set(forms))
    if unknown:
        raise _unknown(unknown[0])


def _put_rows(request: ExplainRequest, forms: list[str], document: Mapping[str, Any]) -> int:
    """Put the rows in front of the background; return their number."""
    if not forms:
        return 0
    cells = cells_of(forms[0], document[forms[0]], request)
    row_count = row_count_of(cells)
    if row_count > _ROW_LIMIT:
        raise _invalid(f"{row_count:,} rows, at most {_ROW_LIMIT:,} at a time", forms[0])
    if row_count:
        put_first(request, cells, row_count, forms[0])
    return row_count


def _check_no_rows(row_count: int) -> None:
    if row_count:
        raise _invalid(
            f'"{GLOBAL}" explains the model on its background, and no rows; send an empty list',
            f"parameters.{GLOBAL}",
        )


def _put_parameters(request: ExplainRequest, parameters: dict[str, Any], row_count: int) -> bool:
    """Add the parameters to a request; return whether its answer takes kept interactions.

    These are of the background by default options: taken where no other parameter is given, and
    the methods are the default ones, or end with interactions without options.
    """
    asked = canonical.to_message(parameters, ExplainRequest)
    given = {field.name for field, _ in asked.ListFields()}
    for name in _OF_OPERATOR:
        if name in given:
            raise _invalid(f"{name} is set by the server's operator; leave it out", name)
    methods = list(asked.methods or (request.methods if row_count else ()))
    is_kept = bool(row_count) and given <= {"methods"}
    if is_kept and asked.methods:
        is_kept = len(methods) > 1 and methods[-1] == _KEPT
        methods = methods[:-1] if is_kept else methods
    asked.ClearField("methods")
    request.ClearField("methods")
    request.MergeFrom(asked)
    for method in methods:
        request.methods.extend(_of_rows(method, row_count))
    return is_kept


def _of_rows(method: MethodOptions, row_count: int) -> list[MethodOptions]:
    """Return a method for all rows, or for each of them, where its options name none."""
    name = method.WhichOneof("method")
    how = _ROWS_NAMED.get(name or "")
    if how is None or not row_count or _names_rows(getattr(method, name)):
        return [method]
    rows = range(row_count)
    named = [rows] if how is RowsNamed.TOGETHER else [[row] for row in rows]
    return [_with_rows(method, name, own) for own in named]


def _names_rows(options: Any) -> bool:
    """Return whether options choose the rows that they explain."""
    names = ("row_indices", "explained_rows", "explained_row_count")
    return any(field.name in names for field, _ in options.ListFields())


def _with_rows(method: MethodOptions, name: str, rows: Iterable[int]) -> MethodOptions:
    copy = MethodOptions()
    copy.CopyFrom(method)
    getattr(copy, name).row_indices.extend(rows)
    return copy


def _invalid(message: str, field: str = "") -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, message, field)


def _unknown(name: str) -> ExplainError:
    known = ", ".join((*FORMS, *_PARAMETERS))
    return _invalid(f'"{name[:100]}" is no known field; known here: {known}', name[:100])


class _Parameters:
    """Parameters, some of which are no fields of a request; other values are read as they are."""

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:  # noqa: ARG002
        """See `Shape.read`."""
        if not reader.starts(at, "{"):
            return reader.scan(at)
        others = {GLOBAL: ANY, "methods": ANY}
        return MessageShape(ExplainRequest.DESCRIPTOR, others).read(reader, at, "")


BODY = ObjectShape(
    {
        **TABLE_SHAPES,
        **dict.fromkeys(_ENVELOPE, ANY),
        **dict.fromkeys(_PARAMETERS, _Parameters()),
    },
    _unknown,
)
"""Shape of a body in JSON."""
