from onnxplain.v1 import table_pb2 as _table_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PartialDependenceOptions(_message.Message):
    __slots__ = ("features", "grid_size", "strategy", "trim_lower", "trim_upper", "grids", "group_column", "group_count", "include_missing", "max_outside_share", "repeat_count", "confidence_level")
    class Strategy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STRATEGY_UNSPECIFIED: _ClassVar[PartialDependenceOptions.Strategy]
        UNIFORM: _ClassVar[PartialDependenceOptions.Strategy]
        QUANTILE: _ClassVar[PartialDependenceOptions.Strategy]
        STEPS: _ClassVar[PartialDependenceOptions.Strategy]
    STRATEGY_UNSPECIFIED: PartialDependenceOptions.Strategy
    UNIFORM: PartialDependenceOptions.Strategy
    QUANTILE: PartialDependenceOptions.Strategy
    STEPS: PartialDependenceOptions.Strategy
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GRID_SIZE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    TRIM_LOWER_FIELD_NUMBER: _ClassVar[int]
    TRIM_UPPER_FIELD_NUMBER: _ClassVar[int]
    GRIDS_FIELD_NUMBER: _ClassVar[int]
    GROUP_COLUMN_FIELD_NUMBER: _ClassVar[int]
    GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_MISSING_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTSIDE_SHARE_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedCompositeFieldContainer[FeatureGroup]
    grid_size: int
    strategy: PartialDependenceOptions.Strategy
    trim_lower: float
    trim_upper: float
    grids: _containers.RepeatedCompositeFieldContainer[Grid]
    group_column: str
    group_count: int
    include_missing: bool
    max_outside_share: float
    repeat_count: int
    confidence_level: float
    def __init__(self, features: _Optional[_Iterable[_Union[FeatureGroup, _Mapping]]] = ..., grid_size: _Optional[int] = ..., strategy: _Optional[_Union[PartialDependenceOptions.Strategy, str]] = ..., trim_lower: _Optional[float] = ..., trim_upper: _Optional[float] = ..., grids: _Optional[_Iterable[_Union[Grid, _Mapping]]] = ..., group_column: _Optional[str] = ..., group_count: _Optional[int] = ..., include_missing: bool = ..., max_outside_share: _Optional[float] = ..., repeat_count: _Optional[int] = ..., confidence_level: _Optional[float] = ...) -> None: ...

class FeatureGroup(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class Grid(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    def __init__(self, columns: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ...) -> None: ...

class PartialDependenceResult(_message.Message):
    __slots__ = ("output_names", "curves", "confidence_level", "differences")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    CURVES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    curves: _containers.RepeatedCompositeFieldContainer[PartialDependenceCurve]
    confidence_level: float
    differences: _containers.RepeatedCompositeFieldContainer[GroupDifference]
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., curves: _Optional[_Iterable[_Union[PartialDependenceCurve, _Mapping]]] = ..., confidence_level: _Optional[float] = ..., differences: _Optional[_Iterable[_Union[GroupDifference, _Mapping]]] = ...) -> None: ...

class PartialDependenceCurve(_message.Message):
    __slots__ = ("features", "group", "grid", "values", "weight", "lower", "upper", "row_weights", "observed_means", "outside_shares", "outside_share", "outside_partner", "standard_errors", "simultaneous_lower", "simultaneous_upper")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    ROW_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_MEANS_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_SHARES_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_SHARE_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_PARTNER_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_LOWER_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_UPPER_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    grid: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    values: _containers.RepeatedScalarFieldContainer[float]
    weight: float
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    row_weights: _containers.RepeatedScalarFieldContainer[float]
    observed_means: _containers.RepeatedScalarFieldContainer[float]
    outside_shares: _containers.RepeatedScalarFieldContainer[float]
    outside_share: float
    outside_partner: str
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_lower: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_upper: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., grid: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., values: _Optional[_Iterable[float]] = ..., weight: _Optional[float] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ..., row_weights: _Optional[_Iterable[float]] = ..., observed_means: _Optional[_Iterable[float]] = ..., outside_shares: _Optional[_Iterable[float]] = ..., outside_share: _Optional[float] = ..., outside_partner: _Optional[str] = ..., standard_errors: _Optional[_Iterable[float]] = ..., simultaneous_lower: _Optional[_Iterable[float]] = ..., simultaneous_upper: _Optional[_Iterable[float]] = ...) -> None: ...

class GroupDifference(_message.Message):
    __slots__ = ("features", "group", "reference_group", "grid", "values", "standard_errors", "lower", "upper", "simultaneous_lower", "simultaneous_upper")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_LOWER_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_UPPER_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    reference_group: str
    grid: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    values: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_lower: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_upper: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., reference_group: _Optional[str] = ..., grid: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., values: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ..., simultaneous_lower: _Optional[_Iterable[float]] = ..., simultaneous_upper: _Optional[_Iterable[float]] = ...) -> None: ...
