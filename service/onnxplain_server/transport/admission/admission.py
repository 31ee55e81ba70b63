"""Admission of a request: identifies its model and table, and builds its request context.

The context's cache prefix holds caller, model and table, so callers share no cached numbers.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from onnxplain_server.core.interfaces import Cache
from onnxplain_server.core.request import RequestIds
from onnxplain_server.telemetry.spans import Spans
from onnxplain_server.transport.admission.authentication import ANONYMOUS
from onnxplain_server.transport.admission.follower import NOBODY, Follower
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.admission.size_limits import SizeLimit
from onnxplain_server.transport.audit.usage import Usage

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


_NO_LIMIT = 2**63
NO_LIMITS = RequestLimits(_NO_LIMIT, _NO_LIMIT, math.inf)
"""Limits of callers who use their own machine."""


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
    start : float
        Monotonic time of the request's first byte.
    usage : Usage
        Filled while an explanation is served.
    begin : callable () -> None
        Called as the work of a request begins; raises what refuses it.
    deliver : callable (byte_count, deadline) -> None
        Called with the size of its reply, within its slot; raises what refuses it.
    """

    name: str
    seconds: float
    is_disconnected: Callable[[], bool]
    address: str = ""
    spans: Spans = field(default_factory=Spans)
    start: float = field(default_factory=time.monotonic)
    usage: Usage = field(default_factory=Usage)
    begin: Callable[[], None] = lambda: None
    deliver: Callable[[int, float], None] = lambda _byte_count, _deadline: None

    @property
    def key(self) -> CallerKey:
        """Key for sharing tickets, slots and the processor fairly.

        The name; for anonymous callers, the network address too: a caller cannot
        choose that as freely as a request. Anonymous callers behind one proxy share
        the part of one caller.
        """
        return (self.name, self.address if self.name == ANONYMOUS else "")


def create_context(
    ids: RequestIds,
    caller: Caller,
    control: RequestControl,
    *,
    cache: Cache,
    limits: RequestLimits,
    follower: Follower = NOBODY,
    reserve_rows: Callable[[float], None] = lambda _row_count: None,
    planned_seconds: float = 0.0,
) -> RequestContext:
    """Make the context of a computation; its keys are derived from what this process hashed."""
    model_key = ":".join((_SCHEMA, _sha256(caller.name.encode()), ids.model))
    return RequestContext(
        control,
        cache,
        f"{model_key}:{ids.table_form}:{ids.table}:",
        follower,
        model_key=model_key,
        caller_key=caller.key,
        row_limit=limits.row_count,
        usage=caller.usage,
        reserve_rows=reserve_rows,
        planned_seconds=planned_seconds,
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
