"""Files that a request names by URI: fetched, checked, and put where files of a request stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from google.protobuf.message import DecodeError
from onnxplain.v1.explanation_service_pb2 import DescribeModelResponse, Receipt
from onnxplain.v1.model_pb2 import Model, ModelDescription

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.sessions import RemoteSessions
from onnxplain_server.core.request import (
    REMOTE_FORM,
    Reply,
    RequestFile,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.core.sources import (
    FetchControl,
    InputShape,
    ModelCache,
    ModelColumns,
    Sources,
    TableNeeds,
)
from onnxplain_server.transport.admission.admission import RequestLimits
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.wire.blobs import identify

_MESSAGE_BYTES = 2**20
_PIN = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")


class NoSources:
    """`Sources` of a server whose operator lists no prefix."""

    def read_model(self, *_arguments: object, **_named: object) -> NoReturn:
        """Refuse it."""
        raise _not_listed("model.uri")

    def read_table(self, *_arguments: object, **_named: object) -> NoReturn:
        """Refuse it."""
        raise _not_listed("table.uris")

    def check_writable(self, *_arguments: object, **_named: object) -> NoReturn:
        """Refuse it."""
        raise _not_listed("result_uri")

    def write(self, *_arguments: object, **_named: object) -> NoReturn:
        """Refuse it."""
        raise _not_listed("result_uri")

    def write_parts(self, *_arguments: object, **_named: object) -> NoReturn:
        """Refuse it."""
        raise _not_listed("result_uri")


NO_SOURCES = NoSources()


class FetchedFiles:
    """Fetches the files that requests name by URI.

    Parameters
    ----------
    sources : Sources
    limits : RequestLimits
        Size limits.
    models : ModelCache
    remote_sessions : RemoteSessions or None
        Tell which remote models may be asked; None: any, as for the user's own commands.
    """

    def __init__(
        self,
        sources: Sources,
        limits: RequestLimits,
        models: ModelCache,
        remote_sessions: RemoteSessions | None = None,
    ) -> None:
        self._remote_sessions = remote_sessions
        self._sources = sources
        self._limits = limits
        self._models = models

    def resolve(
        self,
        method: ServiceMethod,
        parts: RequestParts,
        control: RequestControl,
        model_columns: Callable[[RequestFile], ModelColumns],
    ) -> RequestParts:
        """Return a request whose files are all there; while one is fetched, others compute.

        Parameters
        ----------
        method : ServiceMethod
            What describes a table gets all its columns, others those that they need.
        parts : RequestParts
        control : RequestControl
        model_columns : callable (model) -> ModelColumns
            Tells the columns that a model takes.

        Raises
        ------
        ExplainError
            Also for a remote model that may not be asked.
        """
        model = parts.model
        if self._remote_sessions and model is not None and model.form == REMOTE_FORM:
            self._remote_sessions.check(bytes(model.content))
        if not self.is_needed(parts):
            return parts
        with control.release_slot():
            parts = self.with_model(parts, control)
        if parts.table is None or not parts.table.is_elsewhere:
            return parts
        is_whole = method is ServiceMethod.DESCRIBE_TABLE
        columns = ModelColumns()
        if parts.model is not None:
            # A description of a table tells by itself what is wrong with its model.
            with suppress(*([ExplainError] if is_whole else [])):
                columns = model_columns(parts.model)
        with control.release_slot():
            return self.with_table(parts, TableNeeds(parts.envelope, columns, is_whole), control)

    @staticmethod
    def is_needed(parts: RequestParts) -> bool:
        """Return whether a request names a file by URI."""
        files = (parts.model, parts.table)
        return any(file is not None and file.is_elsewhere for file in files)

    def with_model(self, parts: RequestParts, control: FetchControl) -> RequestParts:
        """Return a request with its model fetched, if that is named by URI.

        Raises
        ------
        ExplainError
            SOURCE_CHANGED if it is not the one that is pinned; those of `Sources.read_model`.
        """
        if parts.model is None or not parts.model.is_elsewhere:
            return parts
        message = _small(parts.model, "model")
        named = _decoded(message)
        pin, limit = _pin(named.sha256), self._limits.model_bytes
        with self._models.single_flight(named.uri, control):
            fetched = self._sources.read_model(message, limit, control, self._models)
        identity = identify(fetched.content)
        receipt = Receipt.FromString(fetched.receipt)
        receipt.sources[0].digest = identity
        if pin and identity != f"sha256:{pin}":
            raise ExplainError(
                Reason.SOURCE_CHANGED,
                f'"{receipt.sources[0].uri}" has the digest {identity[7:]}, and model.sha256 is '
                "another: the file has changed, or is another one",
                "model.sha256",
            )
        return replace(parts, model=replace(fetched, receipt=receipt.SerializeToString()))

    def with_table(
        self, parts: RequestParts, needs: TableNeeds, control: FetchControl
    ) -> RequestParts:
        """Return a request with what is needed of its table fetched.

        Raises
        ------
        ExplainError
            See `Sources.read_table`.
        """
        if parts.table is None or not parts.table.is_elsewhere:
            return parts
        message, limit = _small(parts.table, "table"), self._limits.table_bytes
        return replace(parts, table=self._sources.read_table(message, needs, limit, control))


def model_columns(reply: Reply) -> ModelColumns:
    """Return the columns that the model of an encoded DescribeModelResponse takes."""
    return described_columns(DescribeModelResponse.FromString(reply.content).model)


def described_columns(model: ModelDescription) -> ModelColumns:
    """Return the columns that a model takes by its description."""
    inputs = tuple(InputShape(each.name, each.type, each.width) for each in model.inputs)
    return ModelColumns(tuple(model.feature_names), inputs)


def _small(file: RequestFile, kind: str) -> bytes:
    """Return the message that names a URI, if it is of a size that this process may parse."""
    if len(file.content) > _MESSAGE_BYTES:
        message = f"the addresses of the {kind} have more than {_MESSAGE_BYTES:,} bytes"
        raise ExplainError(Reason.INVALID_REQUEST, message, kind)
    return bytes(file.content)


def _decoded(message: bytes) -> Model:
    try:
        return Model.FromString(message)
    except DecodeError:
        raise ExplainError(Reason.INVALID_REQUEST, "the model cannot be decoded", "model") from None


def _pin(sha256: str) -> str:
    """Return the digest that a model is pinned to, in lower case; empty without one."""
    match = _PIN.fullmatch(sha256)
    if sha256 and match is None:
        raise ExplainError(
            Reason.INVALID_REQUEST, "model.sha256 must be 64 hexadecimal digits", "model.sha256"
        )
    return match[1].lower() if match else ""


def _not_listed(field: str) -> ExplainError:
    return ExplainError(
        Reason.SOURCE_NOT_LISTED,
        "this server reads and writes nothing by URI: its operator lists no prefixes, in the "
        "setting sources_file. Have the prefix listed, or send the file itself",
        field,
    )
