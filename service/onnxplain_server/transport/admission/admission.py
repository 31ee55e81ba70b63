"""What a request must meet before anything is computed, and the call that it becomes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, Cache
from onnxplain_server.telemetry.spans import Spans
from onnxplain_server.transport.admission.authentication import ANONYMOUS
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.wire.blobs import identify

CallerKey: TypeAlias = tuple[str, str]

# Part of every cached name: raise it when cached numbers change their meaning.
_SCHEMA = "1"


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The largest request that the server takes, and the most work that it does for one.

    Attributes
    ----------
    model_bytes, table_bytes : int
    seconds : float
    row_count : float
        Rows that the model may be planned to predict.
    """

    model_bytes: int
    table_bytes: int
    seconds: float
    row_count: float = math.inf


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes
    ----------
    name : str
        Its cached numbers are shared under this name, and with no other.
    seconds : float
        How long it waits for the answer; may be infinite.
    is_disconnected : callable () -> bool
        Whether it has left.
    address : str
        Network that it asks from; may be empty.
    spans : Spans
        Where the parts of its request are noted.
    """

    name: str
    seconds: float
    is_disconnected: Callable[[], bool]
    address: str = ""
    spans: Spans = field(default_factory=Spans)

    @property
    def caller_key(self) -> CallerKey:
        """As who it shares places, turns and the processor with others.

        Its name; those without one are told apart by their address. Nobody
        can choose that as freely as a request, and where it stands for many,
        as behind a proxy, they share what one caller has.
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
    """Check sizes and make the surroundings of a computation.

    Parameters
    ----------
    blobs : Blobs
        The files that model and table name; their sizes were checked before.

    Raises
    ------
    ExplainError
        MODEL_TOO_LARGE, TABLE_TOO_LARGE.
    """
    table_bytes = _table_bytes(table)
    _check("model", len(model.content), limits.model_bytes, Reason.MODEL_TOO_LARGE)
    _check("table", len(table_bytes), limits.table_bytes, Reason.TABLE_TOO_LARGE)
    # The same for a file that was uploaded as for one that came with its request.
    names = (
        _SCHEMA,
        _sha256(caller.name.encode()),
        model.id or identify(model.content),
        blobs[table.id].form if table.id else str(table.WhichOneof("source")),
        table.id or identify(table_bytes),
    )
    seconds = min(caller.seconds, limits.seconds)
    return RequestContext(
        cache,
        ":".join((*names, "")),
        seconds,
        progress,
        caller.is_disconnected,
        model_key=":".join(names[:3]),
        caller_key=caller.caller_key,
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


def _check(what: str, found: int, limit: int, reason: Reason) -> None:
    if found > limit:
        raise ExplainError(
            reason, f"the {what} has {found:,} bytes; this server takes at most {limit:,}", what
        )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
