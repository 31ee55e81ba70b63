"""Plan of an operation, made in its first attempt before the computation."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from google.protobuf.message import DecodeError
from grpc import StatusCode
from onnxplain.v1.plan_pb2 import ExplanationPlan

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import Reply
from onnxplain_server.telemetry.spans import Spans
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.audit.usage import Usage
from onnxplain_server.transport.status import STATUS

LOG = logging.getLogger(__name__)

PLAN_BYTES = 2**16
"""Largest plan that is kept: some hundred times that of a usual request."""


def least_seconds(plan: bytes) -> float:
    """Return the least time of the computation by a plan that is kept; 0 without one."""
    return float(ExplanationPlan.FromString(plan).seconds.low)


def plan_ahead(
    plan: Callable[[Caller], Reply], caller: Caller, keep: Callable[[bytes], None]
) -> bytes:
    """Plan a computation and keep the plan; return it, empty where there is none.

    Its rows and spans are not those of the explanation; its processor time and its calls of a
    remote model are.

    Parameters
    ----------
    plan : callable (Caller) -> Reply
        Plans in the name of a caller.
    caller : Caller
        Of the explanation.
    keep : callable (bytes) -> None

    Raises
    ------
    ExplainError
        That of a request which is invalid. After any other the computation is tried.
    """
    planner = replace(caller, spans=Spans(), usage=Usage())
    try:
        with planner.spans.collecting():
            content = plan(planner).content
    except ExplainError as error:
        if STATUS[error.reason].grpc is StatusCode.INVALID_ARGUMENT:
            raise
        LOG.info("an operation has no plan: %s", error.message)
    except Exception:
        LOG.exception("an operation has no plan")
    else:
        if (checked := _checked(content)) is not None:
            keep(checked)
            return checked
    finally:
        caller.usage.processor_seconds += planner.usage.processor_seconds
        caller.usage.remote = planner.usage.remote
    return b""


def _checked(content: bytes) -> bytes | None:
    """Return a plan as it is shown with an operation; None for one that cannot be.

    A worker has written it, which a model may have taken over.
    """
    if len(content) > PLAN_BYTES:
        LOG.info("a plan of %d bytes is not kept", len(content))
        return None
    try:
        plan = ExplanationPlan.FromString(content)
    except DecodeError:
        LOG.warning("a plan cannot be read, and is not kept")
        return None
    plan.ClearField("remaining_quota")
    plan.DiscardUnknownFields()
    return bytes(plan.SerializeToString())
