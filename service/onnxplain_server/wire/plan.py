"""Writer of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain.v1 import plan_pb2

from onnxplain_server.core.request import Reply, ReplyFormat
from onnxplain_server.wire import canonical

if TYPE_CHECKING:
    from onnxplain_server.explain.planning.explanation_plan import (
        ExplanationPlan,
        Interval,
        MethodPlan,
    )


def write(plan: ExplanationPlan) -> plan_pb2.ExplanationPlan:
    """Write a plan as message."""
    return plan_pb2.ExplanationPlan(
        methods=[_method(method) for method in plan.methods],
        predicted_row_count=sum(method.predicted_row_count for method in plan.methods),
        cached_row_count=sum(method.cached_row_count for method in plan.methods),
        seconds=_interval(plan.seconds),
        memory_byte_count=plan.memory_bytes,
        answer_byte_count=plan.answer_bytes,
        savings=[
            plan_pb2.PlanSaving(
                field=saving.field,
                value=saving.value,
                time_share=saving.time_share,
                accuracy=saving.accuracy,
            )
            for saving in plan.savings
        ],
    )


def with_remaining_quota(
    reply: Reply, remaining: plan_pb2.RemainingQuota, reply_format: ReplyFormat
) -> Reply:
    """Add to an encoded plan what its caller may still use, without reading it.

    A worker has written it. It always has fields, of which `remaining_quota` is the last.
    """
    if reply_format.is_json:
        field = plan_pb2.ExplanationPlan.DESCRIPTOR.fields_by_name["remaining_quota"].json_name
        start = reply.content.removesuffix(b"}")
        parts = start, f', "{field}": {canonical.encode(remaining)}}}'.encode()
    else:
        # Parsers merge messages that follow each other.
        added = plan_pb2.ExplanationPlan(remaining_quota=remaining)
        parts = reply.content, added.SerializeToString()
    return Reply(parts, reply.work)


def _method(method: MethodPlan) -> plan_pb2.MethodPlan:
    return plan_pb2.MethodPlan(
        name=method.name,
        engine=method.engine.value if method.engine else "",
        engine_reason=method.engine_reason,
        row_count=method.row_count,
        predicted_row_count=method.predicted_row_count,
        is_exact=method.is_exact,
        cached_row_count=method.cached_row_count,
        seconds=_interval(method.interval),
        answer_byte_count=method.answer_bytes,
    )


def _interval(interval: Interval) -> plan_pb2.SecondsInterval:
    return plan_pb2.SecondsInterval(low=interval.low, high=interval.high)
