"""Files and flags to an ExplainRequest."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from onnxplain.tables import from_bytes
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.cli import files
from onnxplain_server.cli.failure import CommandError
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire import canonical


def build(
    model: str | None,
    table: str | None,
    request_file: str | None,
    methods: Sequence[MethodOptions],
    flags: Mapping[str, Any],
) -> ExplainRequest:
    """Read the files and put the flags on top.

    Parameters
    ----------
    model : str or None
        Path, or "-"; None or "" for methods that need none.
    table : str or None
        Likewise; None for methods that need none.
    request_file : str or None
        Path of a canonical ExplainRequest without model and table.
    methods : sequence of MethodOptions
        From flags; not where the file has methods.
    flags : mapping of field name to value
        None and empty values are flags that were not given; others win over the file.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, where the file or a flag is not as in the contract.
    CommandError
        Where a file cannot be read.
    typer.BadParameter
        Where flags do not fit each other.
    """
    files.check_one_stdin([model, table, request_file])
    request = _from_file(request_file) if request_file else ExplainRequest()
    if methods and request.methods:
        raise typer.BadParameter("methods are given both by --request and by --method; choose one")
    if not methods and not request.methods:
        raise typer.BadParameter("say what to compute by --method NAME or --request FILE")
    request.methods.extend(methods)
    given = {name: value for name, value in flags.items() if value not in (None, [], "")}
    for name in given:
        request.ClearField(name)
    request.MergeFrom(canonical.to_message(given, ExplainRequest))
    if model:
        request.model.CopyFrom(Model(content=files.read(model)))
    if table is not None:
        request.table.CopyFrom(_table(table))
    return request


def names(values: Sequence[str]) -> list[str]:
    """Split comma-separated names; one with a comma inside stands in double quotes."""
    return [name for row in csv.reader(values) for name in row]


def _table(path: str) -> Table:
    try:
        return from_bytes(files.read(path))
    except ValueError as error:
        raise CommandError("FILE_UNREADABLE", f"cannot read {path}: {error}") from None


def _from_file(path: str) -> ExplainRequest:
    request = canonical.decode(files.read(path), ExplainRequest)
    for name in ("model", "table"):
        if request.HasField(name):
            message = f"{path} must not have the {name}, which is an argument of the command"
            raise ExplainError(Reason.INVALID_REQUEST, message, name)
    return request
