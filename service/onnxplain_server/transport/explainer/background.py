"""Background of an explainer: read once, where it lies, as columns of a message.

Files are read in a process of its own, since this one loads no library that reads tables. They are
the operator's, so it is not confined; what lies at a URI is fetched by the process of `Sources`.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from onnxplain.v1.explanation_service_pb2 import DescribeTableRequest, ExplainRequest
from onnxplain.v1.table_pb2 import Column, Table, TableUris

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import FetchControl, Sources, TableNeeds
from onnxplain_server.wire.media_types import table_form

WHOLE = TableNeeds(is_whole=True)
_READER = "onnxplain_server.wire.explained.background_columns"


@dataclass(frozen=True, slots=True)
class BackgroundTable:
    """Address of the background, and how much of it is taken.

    Attributes
    ----------
    address : str
        URI, or path of a file.
    sources : Sources
        Reads URIs.
    byte_limit : int
        Largest table as sent, and largest message with its columns.
    """

    address: str
    sources: Sources
    byte_limit: int

    def read(self, control: FetchControl, needs: TableNeeds = WHOLE) -> bytes:
        """Return a serialised Columns.

        Parameters
        ----------
        control : FetchControl
        needs : TableNeeds
            Of the whole table; its model tells which columns of files without types are text.

        Raises
        ------
        ExplainError
            Those of tables, of files, and of `Sources.read_table`.
        """
        if is_uri(self.address):
            message = Table(uris=TableUris(uris=[self.address])).SerializeToString()
            fetched = self.sources.read_table(message, needs, self.byte_limit, control)
            columns = _columns("arrow", bytes(fetched.content), needs)
        else:
            content = file_content(self.address, "table")
            columns = _columns(table_form("", self.address), content, needs)
        if len(columns) > self.byte_limit:
            raise ExplainError(
                Reason.TABLE_TOO_LARGE,
                f"the background has {len(columns):,} bytes as columns, at most "
                f"{self.byte_limit:,} are taken; some hundred rows are enough",
                "table",
            )
        return columns


def is_uri(address: str) -> bool:
    """Return whether an address is a URI, and not the path of a file."""
    return "://" in address or address.startswith("models:/")


def file_content(path: str, kind: str) -> bytes:
    """Return the content of an operator's file, "model" or "table".

    Raises
    ------
    ExplainError
        INVALID_REQUEST if it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        message = f"the file {path} cannot be read: {error.strerror}"
        raise ExplainError(Reason.INVALID_REQUEST, message, kind) from None


def roles(request: ExplainRequest) -> bytes:
    """Return what tells the features of the background, as of any table."""
    return DescribeTableRequest(
        feature_columns=request.feature_columns,
        target_column=request.target_column,
        weight_column=request.weight_column,
    ).SerializeToString()


def features(request: ExplainRequest) -> list[Column]:
    """Return the columns of the background that the model takes; MISSING_COLUMN."""
    others = {request.target_column, request.weight_column}
    columns = {column.name: column for column in request.table.columns.columns}
    names = list(request.feature_columns) or [name for name in columns if name not in others]
    missing = [name for name in names if name not in columns]
    if missing:
        message = f'the background has no column "{missing[0]}"'
        raise ExplainError(Reason.MISSING_COLUMN, message, "feature_columns")
    return [columns[name] for name in names]


def _columns(form: str, content: bytes, needs: TableNeeds) -> bytes:
    command = [sys.executable, "-m", _READER, form, needs.pack()]
    done = subprocess.run(command, input=content, capture_output=True, check=False)  # noqa: S603
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines() or ["it cannot be read"]
        raise ExplainError(Reason.INVALID_TABLE, f"the background: {lines[-1]}", "table")
    return done.stdout
