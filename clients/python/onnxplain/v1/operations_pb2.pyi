import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from onnxplain.v1 import explanation_service_pb2 as _explanation_service_pb2
from onnxplain.v1 import plan_pb2 as _plan_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationMetadata(_message.Message):
    __slots__ = ("state", "create_time", "start_time", "end_time", "expire_time", "progress", "attempt_count", "labels", "methods", "request_id", "request_digest", "cancel_requested", "response_byte_count", "plan", "partial_count")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[OperationMetadata.State]
        PENDING: _ClassVar[OperationMetadata.State]
        RUNNING: _ClassVar[OperationMetadata.State]
        SUCCEEDED: _ClassVar[OperationMetadata.State]
        FAILED: _ClassVar[OperationMetadata.State]
        CANCELLED: _ClassVar[OperationMetadata.State]
    STATE_UNSPECIFIED: OperationMetadata.State
    PENDING: OperationMetadata.State
    RUNNING: OperationMetadata.State
    SUCCEEDED: OperationMetadata.State
    FAILED: OperationMetadata.State
    CANCELLED: OperationMetadata.State
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    METHODS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CANCEL_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_BYTE_COUNT_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    state: OperationMetadata.State
    create_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    progress: _explanation_service_pb2.Progress
    attempt_count: int
    labels: _containers.ScalarMap[str, str]
    methods: _containers.RepeatedScalarFieldContainer[str]
    request_id: str
    request_digest: str
    cancel_requested: bool
    response_byte_count: float
    plan: _plan_pb2.ExplanationPlan
    partial_count: int
    def __init__(self, state: _Optional[_Union[OperationMetadata.State, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[_Union[_explanation_service_pb2.Progress, _Mapping]] = ..., attempt_count: _Optional[int] = ..., labels: _Optional[_Mapping[str, str]] = ..., methods: _Optional[_Iterable[str]] = ..., request_id: _Optional[str] = ..., request_digest: _Optional[str] = ..., cancel_requested: bool = ..., response_byte_count: _Optional[float] = ..., plan: _Optional[_Union[_plan_pb2.ExplanationPlan, _Mapping]] = ..., partial_count: _Optional[int] = ...) -> None: ...
