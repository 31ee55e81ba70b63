"""Writer of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain.v1 import plan_pb2

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
