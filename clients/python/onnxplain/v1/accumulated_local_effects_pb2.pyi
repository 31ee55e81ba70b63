from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from onnxplain.v1 import table_pb2 as _table_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccumulatedLocalEffectsOptions(_message.Message):
    __slots__ = ("features", "bin_count", "group_column", "group_count", "repeat_count", "confidence_level")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    BIN_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUP_COLUMN_FIELD_NUMBER: _ClassVar[int]
    GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    bin_count: int
    group_column: str
    group_count: int
    repeat_count: int
    confidence_level: float
    def __init__(self, features: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ..., bin_count: _Optional[int] = ..., group_column: _Optional[str] = ..., group_count: _Optional[int] = ..., repeat_count: _Optional[int] = ..., confidence_level: _Optional[float] = ...) -> None: ...

class AccumulatedLocalEffectsResult(_message.Message):
    __slots__ = ("output_names", "curves", "confidence_level")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    CURVES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    curves: _containers.RepeatedCompositeFieldContainer[AccumulatedLocalEffect]
    confidence_level: float
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., curves: _Optional[_Iterable[_Union[AccumulatedLocalEffect, _Mapping]]] = ..., confidence_level: _Optional[float] = ...) -> None: ...

class AccumulatedLocalEffect(_message.Message):
    __slots__ = ("features", "group", "grid", "values", "mean_predictions", "weight", "missing_weight", "bin_weights", "standard_errors", "lower", "upper", "row_weights", "simultaneous_lower", "simultaneous_upper")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    MEAN_PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    MISSING_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    BIN_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    ROW_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_LOWER_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_UPPER_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    grid: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    values: _containers.RepeatedScalarFieldContainer[float]
    mean_predictions: _containers.RepeatedScalarFieldContainer[float]
    weight: float
    missing_weight: float
    bin_weights: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    row_weights: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_lower: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_upper: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., grid: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., values: _Optional[_Iterable[float]] = ..., mean_predictions: _Optional[_Iterable[float]] = ..., weight: _Optional[float] = ..., missing_weight: _Optional[float] = ..., bin_weights: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ..., row_weights: _Optional[_Iterable[float]] = ..., simultaneous_lower: _Optional[_Iterable[float]] = ..., simultaneous_upper: _Optional[_Iterable[float]] = ...) -> None: ...
