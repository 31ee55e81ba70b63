"""Building of an ExplainRequest from files and flags. Flags override a --request file."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from onnxplain.table_files import from_bytes, is_table
from onnxplain.uris import ModelUri, is_uri
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table, TableUris

from onnxplain_server.cli import files
from onnxplain_server.cli.failure import CommandError, UsageFault
from onnxplain_server.cli.files import STANDARD_INPUT
from onnxplain_server.cli.requests.flag_names import flags_by_field
from onnxplain_server.cli.requests.methods import METHOD_NAMES
from onnxplain_server.cli.terminal.error_lines import Names
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.native_files import native_format
from onnxplain_server.wire import canonical

_TARGETS = ("target_column", "target_columns")
"""Fields of which a request has one."""


def build(
    model: str | Model | None,
    table: str | None,
    request_file: str | None,
    flags: Mapping[str, Any],
) -> ExplainRequest:
    """Read the files and apply the flags; see `add_methods` for those of methods.

    Parameters
    ----------
    model : str, Model or None
        Path, or "-"; or a remote model; None or "" if there is none. Without `table` it may be the
        path of a table: a file that is not named .onnx and begins like a table.
    table : str or None
        Path, or "-"; None if there is none.
    request_file : str or None
        Path of a canonical ExplainRequest without model and table.
    flags : mapping of field name to value
        None and empty values are absent flags; others override the file.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if the file or a flag does not fit the contract.
    CommandError
        If a file cannot be read.
    UsageFault
        If flags contradict each other.
    """
    paths = [None if isinstance(model, Model) else model, table, request_file]
    files.check_one_stdin(paths)
    request = _from_file(request_file) if request_file else ExplainRequest()
    _apply(flags, request)
    _attach(request, model, table)
    return request


def model_message(path: str) -> Model:
    """Return the model at a path or an address."""
    return Model(uri=path) if is_uri(path) else Model(content=_whole(path, files.read(path)))


def _whole(path: str, content: bytes) -> bytes:
    """Return a model with the values of the files that lie beside it."""
    if path == STANDARD_INPUT:
        return content
    from onnxplain.external_data.folder import beside  # noqa: PLC0415 - is rarely needed

    return beside(content, Path(path).parent)


def table_message(path: str) -> Table:
    """Return the table at a path or an address."""
    if is_uri(path):
        return Table(uris=TableUris(uris=[path]))
    return _table(path, files.read(path))


def _attach(request: ExplainRequest, model: str | Model | None, table: str | None) -> None:
    """Read model and table into the request."""
    if isinstance(model, Model):
        request.model.CopyFrom(model)
        request.model_name = request.model_name or model.remote.name
    elif model and is_uri(model):
        request.model.uri = model
        request.model_name = request.model_name or ModelUri(model).name
    elif model:
        content = files.read(model)
        if table is None and not model.lower().endswith(".onnx") and _begins_like_table(content):
            request.table.CopyFrom(_table(model, content))
        else:
            request.model.content = _whole(model, content)
            if not request.model_name and model != "-":
                request.model_name = Path(model).name
    if table is not None:
        request.table.CopyFrom(table_message(table))


def add_methods(request: ExplainRequest, methods: Sequence[MethodOptions]) -> None:
    """Add the methods of flags; UsageFault where the request has some already."""
    if methods and request.methods:
        raise UsageFault("both --request and --method name methods; choose one")
    request.methods.extend(methods)


def _apply(flags: Mapping[str, Any], request: ExplainRequest) -> None:
    present = {name: value for name, value in flags.items() if value not in (None, [], "")}
    for name in present:
        for field in _TARGETS if name in _TARGETS else (name,):
            request.ClearField(field)
    request.MergeFrom(canonical.to_message(present, ExplainRequest))


def is_table_file(path: str) -> bool:
    """Return whether a path is of a table: a file, not named .onnx, that begins like one."""
    if path == STANDARD_INPUT or is_uri(path) or path.lower().endswith(".onnx"):
        return False
    return _begins_like_table(files.read(path))


def _begins_like_table(content: bytes) -> bool:
    return is_table(content) and native_format(content) is None


def flags_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the request that flags of `explain` set."""
    known = set(ExplainRequest.DESCRIPTOR.fields_by_name) - {"model", "table"}
    return {
        **{name: value for name, value in given.items() if name in known},
        "feature_columns": split(given["feature_columns"] or []),
        "expected_prediction_columns": split(given["expected_prediction_columns"] or []),
        "input_columns": input_columns(given["input_columns"] or []),
        "class_labels": split(given["class_labels"] or []),
        "prediction": list(given["prediction"] or []),
        **targets(given["target_column"]),
        **output_choice(given["output_indices"] or [], given["outputs"] or []),
    }


def names(context: typer.Context, paths: Mapping[str, str | None]) -> Names:
    """Return the names that the user of `explain` knows the request by.

    Fields that come from a --request file keep their names.

    Parameters
    ----------
    context : typer.Context
    paths : mapping of "model", "table" and "request" to path or None
    """
    fields = ExplainRequest.DESCRIPTOR.fields_by_name
    flags = flags_by_field(context, fields, only_given=bool(paths["request"]))
    files = {name: shown_path(path) for name, path in paths.items() if path and name != "request"}
    methods = frozenset[str]() if paths["request"] else frozenset(METHOD_NAMES)
    has_target = context.params["target_column"] is not None
    options = {"target_columns": "--target-column"} if has_target else {}
    return Names(flags, files, methods, len(context.params["method"] or ()) > 1, options)


def shown_path(path: str) -> str:
    """Return a path as a message shows it: the file's name, so that the message stays short."""
    return "standard input" if path == STANDARD_INPUT else Path(path).name


def targets(text: str | None) -> dict[str, Any]:
    """Return the fields that name the target of a flag, or several."""
    names = split([text] if text else [])
    is_one = len(names) < 2
    return {
        "target_column": "".join(names) if is_one else "",
        "target_columns": [] if is_one else names,
    }


def split(values: Sequence[str]) -> list[str]:
    """Split comma-separated names; double quotes protect a comma inside a name.

    A list of texts and numbers in JSON is taken as it is.
    """
    return [name for text in values for name in _entries(text)]


def _entries(text: str) -> list[str]:
    try:
        entries = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except ValueError:
        entries = None
    if isinstance(entries, list) and all(isinstance(entry, str) for entry in entries):
        return entries
    return next(csv.reader([text]), [])


def input_columns(values: Sequence[str]) -> list[dict[str, Any]]:
    """Return the columns of each input, from "INPUT=NAME,..." each.

    Raises
    ------
    UsageFault
        Without an input, or columns.
    """
    parts = [(text, *text.partition("=")[::2]) for text in values]
    for text, name, columns in parts:
        if not (name and columns):
            raise UsageFault(f"{text!r} is no INPUT=NAME,...", "--input-columns")
    return [{"input": name, "columns": split([columns])} for _, name, columns in parts]


def output_choice(indices: Sequence[str], outputs: Sequence[str]) -> dict[str, list[str]]:
    """Return the fields of `--output-indices` and `--outputs`.

    What `--output-indices` holds are names unless they are whole numbers.

    Raises
    ------
    UsageFault
        If positions and names are mixed.
    """
    given = split(indices)
    are_positions = [_is_whole(text) for text in given]
    by_name = split(outputs) + ([] if all(are_positions) else given)
    if any(are_positions) and by_name:
        raise UsageFault("outputs are chosen by position or by name, not both", "--output-indices")
    return {"output_indices": given if not by_name else [], "outputs": by_name}


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+", text.strip()) is not None


def _table(path: str, content: bytes) -> Table:
    try:
        return from_bytes(content)
    except ValueError as error:
        raise CommandError("FILE_UNREADABLE", f"cannot read {path}: {error}") from None


def _from_file(path: str) -> ExplainRequest:
    request = canonical.decode(files.read(path), ExplainRequest)
    for name in ("model", "table"):
        if request.HasField(name):
            message = f"{path} must not have the {name}, which is an argument of the command"
            raise ExplainError(Reason.INVALID_REQUEST, message, name)
    return request
