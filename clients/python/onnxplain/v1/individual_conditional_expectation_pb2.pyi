from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from onnxplain.v1 import table_pb2 as _table_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IndividualConditionalExpectationOptions(_message.Message):
    __slots__ = ("features", "grid_size", "strategy", "trim_lower", "trim_upper", "grids", "include_missing", "curve_count", "group_columns", "group_count", "centered", "joint_features", "row_indices")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GRID_SIZE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    TRIM_LOWER_FIELD_NUMBER: _ClassVar[int]
    TRIM_UPPER_FIELD_NUMBER: _ClassVar[int]
    GRIDS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_MISSING_FIELD_NUMBER: _ClassVar[int]
    CURVE_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUP_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    CENTERED_FIELD_NUMBER: _ClassVar[int]
    JOINT_FEATURES_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    grid_size: int
    strategy: _partial_dependence_pb2.PartialDependenceOptions.Strategy
    trim_lower: float
    trim_upper: float
    grids: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.Grid]
    include_missing: bool
    curve_count: int
    group_columns: _containers.RepeatedScalarFieldContainer[str]
    group_count: int
    centered: bool
    joint_features: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., grid_size: _Optional[int] = ..., strategy: _Optional[_Union[_partial_dependence_pb2.PartialDependenceOptions.Strategy, str]] = ..., trim_lower: _Optional[float] = ..., trim_upper: _Optional[float] = ..., grids: _Optional[_Iterable[_Union[_partial_dependence_pb2.Grid, _Mapping]]] = ..., include_missing: bool = ..., curve_count: _Optional[int] = ..., group_columns: _Optional[_Iterable[str]] = ..., group_count: _Optional[int] = ..., centered: bool = ..., joint_features: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ..., row_indices: _Optional[_Iterable[int]] = ...) -> None: ...

class IndividualConditionalExpectationResult(_message.Message):
    __slots__ = ("output_names", "curves")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    CURVES_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    curves: _containers.RepeatedCompositeFieldContainer[IndividualConditionalExpectationCurves]
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., curves: _Optional[_Iterable[_Union[IndividualConditionalExpectationCurves, _Mapping]]] = ...) -> None: ...

class IndividualConditionalExpectationCurves(_message.Message):
    __slots__ = ("feature", "grid", "row_indices", "groups", "values", "features", "group_labels")
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_LABELS_FIELD_NUMBER: _ClassVar[int]
    feature: str
    grid: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    groups: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.RepeatedScalarFieldContainer[float]
    features: _containers.RepeatedScalarFieldContainer[str]
    group_labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, feature: _Optional[str] = ..., grid: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., row_indices: _Optional[_Iterable[int]] = ..., groups: _Optional[_Iterable[str]] = ..., values: _Optional[_Iterable[float]] = ..., features: _Optional[_Iterable[str]] = ..., group_labels: _Optional[_Iterable[str]] = ...) -> None: ...
