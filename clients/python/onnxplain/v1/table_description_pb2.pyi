from onnxplain.v1 import table_pb2 as _table_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TableDescription(_message.Message):
    __slots__ = ("row_count", "columns", "rows", "matching")
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    MATCHING_FIELD_NUMBER: _ClassVar[int]
    row_count: float
    columns: _containers.RepeatedCompositeFieldContainer[ColumnDescription]
    rows: TableRows
    matching: FeatureMatching
    def __init__(self, row_count: _Optional[float] = ..., columns: _Optional[_Iterable[_Union[ColumnDescription, _Mapping]]] = ..., rows: _Optional[_Union[TableRows, _Mapping]] = ..., matching: _Optional[_Union[FeatureMatching, _Mapping]] = ...) -> None: ...

class TableRows(_message.Message):
    __slots__ = ("row_indices", "columns", "distances")
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    DISTANCES_FIELD_NUMBER: _ClassVar[int]
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    columns: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    distances: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, row_indices: _Optional[_Iterable[int]] = ..., columns: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., distances: _Optional[_Iterable[float]] = ...) -> None: ...

class ColumnDescription(_message.Message):
    __slots__ = ("name", "type", "missing_count", "distinct_count", "minimum", "maximum", "mean", "frequent_values", "other_type")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        TYPE_UNSPECIFIED: _ClassVar[ColumnDescription.Type]
        NUMBER: _ClassVar[ColumnDescription.Type]
        TEXT: _ClassVar[ColumnDescription.Type]
        OTHER: _ClassVar[ColumnDescription.Type]
    TYPE_UNSPECIFIED: ColumnDescription.Type
    NUMBER: ColumnDescription.Type
    TEXT: ColumnDescription.Type
    OTHER: ColumnDescription.Type
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MISSING_COUNT_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_COUNT_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    FREQUENT_VALUES_FIELD_NUMBER: _ClassVar[int]
    OTHER_TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: ColumnDescription.Type
    missing_count: float
    distinct_count: float
    minimum: float
    maximum: float
    mean: float
    frequent_values: _containers.RepeatedCompositeFieldContainer[ValueCount]
    other_type: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[ColumnDescription.Type, str]] = ..., missing_count: _Optional[float] = ..., distinct_count: _Optional[float] = ..., minimum: _Optional[float] = ..., maximum: _Optional[float] = ..., mean: _Optional[float] = ..., frequent_values: _Optional[_Iterable[_Union[ValueCount, _Mapping]]] = ..., other_type: _Optional[str] = ...) -> None: ...

class ValueCount(_message.Message):
    __slots__ = ("value", "row_count")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    value: str
    row_count: float
    def __init__(self, value: _Optional[str] = ..., row_count: _Optional[float] = ...) -> None: ...

class FeatureMatching(_message.Message):
    __slots__ = ("feature_columns", "rule", "refusal", "missing_columns", "target_column")
    class Rule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RULE_UNSPECIFIED: _ClassVar[FeatureMatching.Rule]
        LISTED: _ClassVar[FeatureMatching.Rule]
        BY_NAME: _ClassVar[FeatureMatching.Rule]
        BY_POSITION: _ClassVar[FeatureMatching.Rule]
    RULE_UNSPECIFIED: FeatureMatching.Rule
    LISTED: FeatureMatching.Rule
    BY_NAME: FeatureMatching.Rule
    BY_POSITION: FeatureMatching.Rule
    FEATURE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    MISSING_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMN_FIELD_NUMBER: _ClassVar[int]
    feature_columns: _containers.RepeatedScalarFieldContainer[str]
    rule: FeatureMatching.Rule
    refusal: str
    missing_columns: _containers.RepeatedScalarFieldContainer[str]
    target_column: str
    def __init__(self, feature_columns: _Optional[_Iterable[str]] = ..., rule: _Optional[_Union[FeatureMatching.Rule, str]] = ..., refusal: _Optional[str] = ..., missing_columns: _Optional[_Iterable[str]] = ..., target_column: _Optional[str] = ...) -> None: ...
