"""Explanation that has ended, as metrics and the audit log are told of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from onnxplain_server.transport.audit.usage import Usage


@dataclass(frozen=True, slots=True)
class EndedExplanation:
    """Request for an explanation, answered or not, or attempt at an operation, at its end.

    Attributes
    ----------
    usage : Usage
    caller : str
    transport : str
        "grpc", "rest" or "operation".
    outcome : str
        "OK", or the reason of the failure.
    seconds : float
    request_id, trace_id, operation : str
        Empty without one.
    time : float
        End, in seconds since the epoch.
    """

    usage: Usage
    caller: str
    transport: str
    outcome: str
    seconds: float
    request_id: str = ""
    trace_id: str = ""
    operation: str = ""
    time: float = field(default_factory=time.time)


ExplanationSink: TypeAlias = Callable[[EndedExplanation], None]
"""Takes an explanation that has ended; raises nothing."""
