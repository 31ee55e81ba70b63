from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExplanationPlan(_message.Message):
    __slots__ = ("methods", "predicted_row_count", "cached_row_count", "seconds", "memory_byte_count", "answer_byte_count", "savings", "remaining_quota")
    METHODS_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    CACHED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTE_COUNT_FIELD_NUMBER: _ClassVar[int]
    ANSWER_BYTE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SAVINGS_FIELD_NUMBER: _ClassVar[int]
    REMAINING_QUOTA_FIELD_NUMBER: _ClassVar[int]
    methods: _containers.RepeatedCompositeFieldContainer[MethodPlan]
    predicted_row_count: float
    cached_row_count: float
    seconds: SecondsInterval
    memory_byte_count: float
    answer_byte_count: float
    savings: _containers.RepeatedCompositeFieldContainer[PlanSaving]
    remaining_quota: RemainingQuota
    def __init__(self, methods: _Optional[_Iterable[_Union[MethodPlan, _Mapping]]] = ..., predicted_row_count: _Optional[float] = ..., cached_row_count: _Optional[float] = ..., seconds: _Optional[_Union[SecondsInterval, _Mapping]] = ..., memory_byte_count: _Optional[float] = ..., answer_byte_count: _Optional[float] = ..., savings: _Optional[_Iterable[_Union[PlanSaving, _Mapping]]] = ..., remaining_quota: _Optional[_Union[RemainingQuota, _Mapping]] = ...) -> None: ...

class RemainingQuota(_message.Message):
    __slots__ = ("predicted_row_count", "processor_seconds")
    PREDICTED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROCESSOR_SECONDS_FIELD_NUMBER: _ClassVar[int]
    predicted_row_count: float
    processor_seconds: float
    def __init__(self, predicted_row_count: _Optional[float] = ..., processor_seconds: _Optional[float] = ...) -> None: ...

class MethodPlan(_message.Message):
    __slots__ = ("name", "engine", "engine_reason", "row_count", "predicted_row_count", "is_exact", "cached_row_count", "seconds", "answer_byte_count")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    ENGINE_REASON_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    IS_EXACT_FIELD_NUMBER: _ClassVar[int]
    CACHED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_BYTE_COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    engine: str
    engine_reason: str
    row_count: int
    predicted_row_count: float
    is_exact: bool
    cached_row_count: float
    seconds: SecondsInterval
    answer_byte_count: float
    def __init__(self, name: _Optional[str] = ..., engine: _Optional[str] = ..., engine_reason: _Optional[str] = ..., row_count: _Optional[int] = ..., predicted_row_count: _Optional[float] = ..., is_exact: bool = ..., cached_row_count: _Optional[float] = ..., seconds: _Optional[_Union[SecondsInterval, _Mapping]] = ..., answer_byte_count: _Optional[float] = ...) -> None: ...

class SecondsInterval(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: float
    high: float
    def __init__(self, low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class PlanSaving(_message.Message):
    __slots__ = ("field", "value", "time_share", "accuracy")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TIME_SHARE_FIELD_NUMBER: _ClassVar[int]
    ACCURACY_FIELD_NUMBER: _ClassVar[int]
    field: str
    value: int
    time_share: float
    accuracy: str
    def __init__(self, field: _Optional[str] = ..., value: _Optional[int] = ..., time_share: _Optional[float] = ..., accuracy: _Optional[str] = ...) -> None: ...
