"""Admission of a request: checks its size limits and builds its request context.

The context's cache prefix holds caller, model and table, so callers share no cached numbers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.core.interfaces import Blobs, Cache
from onnxplain_server.telemetry.spans import Spans
from onnxplain_server.transport.admission.authentication import ANONYMOUS
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.size_limits import SizeLimit
from onnxplain_server.wire.blobs import identify

CallerKey: TypeAlias = tuple[str, str]

# Part of every cache key: raise it when cached numbers change their meaning.
_SCHEMA = "1"


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Largest request that the server takes, and most work that it does for one.

    Attributes
    ----------
    model_bytes, table_bytes : int
    seconds : float
    row_count : float
        Rows to predict that a request may plan.
    """

    model_bytes: int
    table_bytes: int
    seconds: float
    row_count: float = math.inf

    @property
    def sizes(self) -> Mapping[str, SizeLimit]:
        """Size limits by part: model and table."""
        return {
            "model": SizeLimit("model", self.model_bytes, "max_model_bytes"),
            "table": SizeLimit("table", self.table_bytes, "max_table_bytes"),
        }


@dataclass(frozen=True, slots=True)
class Caller:
    """Sender of a request.

    Attributes
    ----------
    name : str
        Authenticated name; cached numbers and uploads belong to it alone.
    seconds : float
        Timeout that the caller set; may be infinite.
    is_disconnected : callable () -> bool
        Whether it has disconnected.
    address : str
        Network of its address; may be empty.
    spans : Spans
        Collects the durations of the request's parts.
    """

    name: str
    seconds: float
    is_disconnected: Callable[[], bool]
    address: str = ""
    spans: Spans = field(default_factory=Spans)

    @property
    def key(self) -> CallerKey:
        """Key for sharing tickets, slots and the processor fairly.

        The name; for anonymous callers, the network address too: a caller cannot
        choose that as freely as a request. Anonymous callers behind one proxy share
        the part of one caller.
        """
        return (self.name, self.address if self.name == ANONYMOUS else "")


def create_context(
    model: Model,
    table: Table,
    blobs: Blobs,
    caller: Caller,
    *,
    cache: Cache,
    limits: RequestLimits,
    progress: Callable[[float, float], None],
) -> RequestContext:
    """Check the sizes and make the context of a computation.

    Parameters
    ----------
    blobs : Blobs
        Uploaded files that model and table name; checked when they were uploaded.

    Raises
    ------
    ExplainError
        MODEL_TOO_LARGE, TABLE_TOO_LARGE.
    """
    table_bytes = _table_bytes(table)
    limits.sizes["model"].check(len(model.content))
    limits.sizes["table"].check(len(table_bytes))
    # An uploaded file and the same file sent inline have the same key.
    model_key = ":".join(
        (_SCHEMA, _sha256(caller.name.encode()), model.id or identify(model.content))
    )
    form = blobs[table.id].form if table.id else str(table.WhichOneof("source"))
    return RequestContext(
        cache,
        f"{model_key}:{form}:{table.id or identify(table_bytes)}:",
        min(caller.seconds, limits.seconds),
        progress,
        caller.is_disconnected,
        model_key=model_key,
        caller_key=caller.key,
        row_limit=limits.row_count,
    )


def _table_bytes(table: Table) -> bytes:
    match table.WhichOneof("source"):
        case "arrow":
            return table.arrow
        case "parquet":
            return table.parquet
        case "csv":
            return table.csv
        case _:
            return table.columns.SerializeToString(deterministic=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
