from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from onnxplain.v1 import table_pb2 as _table_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AttributionsOptions(_message.Message):
    __slots__ = ("groups", "row_indices", "explained_row_count", "background_row_indices", "perturbation", "value", "order", "permutation_count", "explained_rows")
    class Perturbation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PERTURBATION_UNSPECIFIED: _ClassVar[AttributionsOptions.Perturbation]
        INTERVENTIONAL: _ClassVar[AttributionsOptions.Perturbation]
        PATH_DEPENDENT: _ClassVar[AttributionsOptions.Perturbation]
    PERTURBATION_UNSPECIFIED: AttributionsOptions.Perturbation
    INTERVENTIONAL: AttributionsOptions.Perturbation
    PATH_DEPENDENT: AttributionsOptions.Perturbation
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        VALUE_UNSPECIFIED: _ClassVar[AttributionsOptions.Value]
        SHAPLEY: _ClassVar[AttributionsOptions.Value]
        BANZHAF: _ClassVar[AttributionsOptions.Value]
    VALUE_UNSPECIFIED: AttributionsOptions.Value
    SHAPLEY: AttributionsOptions.Value
    BANZHAF: AttributionsOptions.Value
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    EXPLAINED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    PERTURBATION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PERMUTATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    EXPLAINED_ROWS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    explained_row_count: int
    background_row_indices: _containers.RepeatedScalarFieldContainer[int]
    perturbation: AttributionsOptions.Perturbation
    value: AttributionsOptions.Value
    order: int
    permutation_count: int
    explained_rows: _table_pb2.Columns
    def __init__(self, groups: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ..., row_indices: _Optional[_Iterable[int]] = ..., explained_row_count: _Optional[int] = ..., background_row_indices: _Optional[_Iterable[int]] = ..., perturbation: _Optional[_Union[AttributionsOptions.Perturbation, str]] = ..., value: _Optional[_Union[AttributionsOptions.Value, str]] = ..., order: _Optional[int] = ..., permutation_count: _Optional[int] = ..., explained_rows: _Optional[_Union[_table_pb2.Columns, _Mapping]] = ...) -> None: ...

class AttributionsResult(_message.Message):
    __slots__ = ("output_names", "features", "row_indices", "base_values", "predictions", "values", "standard_errors", "additivity_errors", "interactions", "mean_absolute_values", "mean_absolute_standard_errors", "feature_values", "explained_row_count", "largest_standard_errors")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    BASE_VALUES_FIELD_NUMBER: _ClassVar[int]
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    ADDITIVITY_ERRORS_FIELD_NUMBER: _ClassVar[int]
    INTERACTIONS_FIELD_NUMBER: _ClassVar[int]
    MEAN_ABSOLUTE_VALUES_FIELD_NUMBER: _ClassVar[int]
    MEAN_ABSOLUTE_STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    FEATURE_VALUES_FIELD_NUMBER: _ClassVar[int]
    EXPLAINED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    LARGEST_STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    features: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    base_values: _containers.RepeatedScalarFieldContainer[float]
    predictions: _containers.RepeatedScalarFieldContainer[float]
    values: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    additivity_errors: _containers.RepeatedScalarFieldContainer[float]
    interactions: _containers.RepeatedScalarFieldContainer[float]
    mean_absolute_values: _containers.RepeatedScalarFieldContainer[float]
    mean_absolute_standard_errors: _containers.RepeatedScalarFieldContainer[float]
    feature_values: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    explained_row_count: int
    largest_standard_errors: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., features: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ..., row_indices: _Optional[_Iterable[int]] = ..., base_values: _Optional[_Iterable[float]] = ..., predictions: _Optional[_Iterable[float]] = ..., values: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., additivity_errors: _Optional[_Iterable[float]] = ..., interactions: _Optional[_Iterable[float]] = ..., mean_absolute_values: _Optional[_Iterable[float]] = ..., mean_absolute_standard_errors: _Optional[_Iterable[float]] = ..., feature_values: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., explained_row_count: _Optional[int] = ..., largest_standard_errors: _Optional[_Iterable[float]] = ...) -> None: ...
