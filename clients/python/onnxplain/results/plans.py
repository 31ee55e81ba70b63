"""Plan of an explanation: what it would take, told without computing it."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnxplain.results.canonical_json import to_json
from onnxplain.results.reading import read
from onnxplain.v1 import plan_pb2


@dataclass(frozen=True, slots=True)
class MethodPlan:
    """Plan of one method of a request.

    Attributes
    ----------
    name : str
        As in the contract, like "partial_dependence".
    engine : str
        "TREES", "ADDITIVE" or "BLACK_BOX"; empty where no effects are computed.
    engine_reason : str
    row_count : int
        Rows of the table that it uses; 0 where it needs none.
    predicted_row_count : float
        Rows that the model would be asked to predict.
    is_exact : bool
        Whether that is exact; otherwise it is an upper bound.
    cached_row_count : float
        Rows whose predictions the cache has.
    seconds : (float, float)
        Interval that its time likely lies in.
    answer_byte_count : float or None
        None where the size is not known without computing.
    """

    name: str
    engine: str
    engine_reason: str
    row_count: int
    predicted_row_count: float
    is_exact: bool
    cached_row_count: float
    seconds: tuple[float, float]
    answer_byte_count: float | None


@dataclass(frozen=True, slots=True)
class PlanSaving:
    """Change of one option that at least halves the time of a request.

    Attributes
    ----------
    field : str
        Path of the option in the request, like "row_count".
    value : int
        Its new value.
    time_share : float
        Time after the change, as a part of that before.
    accuracy : str
        What it costs in accuracy.
    """

    field: str
    value: int
    time_share: float
    accuracy: str


@dataclass(frozen=True, slots=True)
class RemainingQuota:
    """Rows and processor time that a caller might still use, when the server was asked.

    What was used more than an hour ago no longer counts.

    Attributes
    ----------
    predicted_row_count : float or None
        Rows that the model may predict; None without a limit.
    processor_seconds : float or None
        Processor time; None without a limit.
    """

    predicted_row_count: float | None
    processor_seconds: float | None


@dataclass(frozen=True, slots=True)
class ExplanationPlan:
    """Plan of an explanation; made by `Client.plan`.

    Attributes
    ----------
    methods : tuple of MethodPlan
        In the order of the request.
    predicted_row_count, cached_row_count : float
        Rows to predict, and rows whose predictions the cache has, for all methods.
    seconds : (float, float)
        Interval that the time of the computation likely lies in.
    memory_byte_count : float
        Estimate of the most bytes that its numbers take at a time.
    answer_byte_count : float or None
        Estimate of the size of the answer; None where it is not known without computing.
    savings : tuple of PlanSaving
        Changes each of which alone would at least halve the time.
    remaining_quota : RemainingQuota or None
        What the caller may still use; None where the server does not limit it.
    message : plan_pb2.ExplanationPlan
        The plan as the contract has it.
    """

    methods: tuple[MethodPlan, ...]
    predicted_row_count: float
    cached_row_count: float
    seconds: tuple[float, float]
    memory_byte_count: float
    answer_byte_count: float | None
    savings: tuple[PlanSaving, ...]
    remaining_quota: RemainingQuota | None
    message: plan_pb2.ExplanationPlan = field(repr=False)

    @classmethod
    def from_message(cls, message: plan_pb2.ExplanationPlan) -> ExplanationPlan:
        """Read the message of the contract."""
        return read(
            cls,
            message,
            methods=tuple(_method(method) for method in message.methods),
            seconds=_interval(message.seconds),
            answer_byte_count=_answer_bytes(message),
            savings=tuple(read(PlanSaving, saving) for saving in message.savings),
            remaining_quota=_remaining(message),
            message=message,
        )

    def to_json(self) -> str:
        """Write the plan as canonical JSON of the contract."""
        return to_json(self.message)


def _method(message: plan_pb2.MethodPlan) -> MethodPlan:
    return read(
        MethodPlan,
        message,
        seconds=_interval(message.seconds),
        answer_byte_count=_answer_bytes(message),
    )


def _remaining(message: plan_pb2.ExplanationPlan) -> RemainingQuota | None:
    if not message.HasField("remaining_quota"):
        return None
    quota = message.remaining_quota
    return RemainingQuota(
        quota.predicted_row_count if quota.HasField("predicted_row_count") else None,
        quota.processor_seconds if quota.HasField("processor_seconds") else None,
    )


def _interval(message: plan_pb2.SecondsInterval) -> tuple[float, float]:
    return message.low, message.high


def _answer_bytes(message: plan_pb2.ExplanationPlan | plan_pb2.MethodPlan) -> float | None:
    return message.answer_byte_count if message.HasField("answer_byte_count") else None
