from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InteractionsOptions(_message.Message):
    __slots__ = ("features", "pairwise_feature_count", "threeway_feature_count", "quantile_bin_count", "absolute_threshold", "repeat_count", "resampling", "confidence_level", "permutation_count", "knot_count", "groups", "target_error")
    class Resampling(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RESAMPLING_UNSPECIFIED: _ClassVar[InteractionsOptions.Resampling]
        BOOTSTRAP: _ClassVar[InteractionsOptions.Resampling]
        JACKKNIFE: _ClassVar[InteractionsOptions.Resampling]
    RESAMPLING_UNSPECIFIED: InteractionsOptions.Resampling
    BOOTSTRAP: InteractionsOptions.Resampling
    JACKKNIFE: InteractionsOptions.Resampling
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    PAIRWISE_FEATURE_COUNT_FIELD_NUMBER: _ClassVar[int]
    THREEWAY_FEATURE_COUNT_FIELD_NUMBER: _ClassVar[int]
    QUANTILE_BIN_COUNT_FIELD_NUMBER: _ClassVar[int]
    ABSOLUTE_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    RESAMPLING_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    PERMUTATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    KNOT_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    TARGET_ERROR_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    pairwise_feature_count: int
    threeway_feature_count: int
    quantile_bin_count: int
    absolute_threshold: float
    repeat_count: int
    resampling: InteractionsOptions.Resampling
    confidence_level: float
    permutation_count: int
    knot_count: int
    groups: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    target_error: float
    def __init__(self, features: _Optional[_Iterable[str]] = ..., pairwise_feature_count: _Optional[int] = ..., threeway_feature_count: _Optional[int] = ..., quantile_bin_count: _Optional[int] = ..., absolute_threshold: _Optional[float] = ..., repeat_count: _Optional[int] = ..., resampling: _Optional[_Union[InteractionsOptions.Resampling, str]] = ..., confidence_level: _Optional[float] = ..., permutation_count: _Optional[int] = ..., knot_count: _Optional[int] = ..., groups: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ..., target_error: _Optional[float] = ...) -> None: ...

class InteractionsResult(_message.Message):
    __slots__ = ("output_names", "mean_squares", "total", "overall", "pairwise", "threeway", "importance", "confidence_level")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    MEAN_SQUARES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    OVERALL_FIELD_NUMBER: _ClassVar[int]
    PAIRWISE_FIELD_NUMBER: _ClassVar[int]
    THREEWAY_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    mean_squares: _containers.RepeatedScalarFieldContainer[float]
    total: InteractionStatistic
    overall: _containers.RepeatedCompositeFieldContainer[InteractionStatistic]
    pairwise: _containers.RepeatedCompositeFieldContainer[InteractionStatistic]
    threeway: _containers.RepeatedCompositeFieldContainer[InteractionStatistic]
    importance: _containers.RepeatedCompositeFieldContainer[InteractionStatistic]
    confidence_level: float
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., mean_squares: _Optional[_Iterable[float]] = ..., total: _Optional[_Union[InteractionStatistic, _Mapping]] = ..., overall: _Optional[_Iterable[_Union[InteractionStatistic, _Mapping]]] = ..., pairwise: _Optional[_Iterable[_Union[InteractionStatistic, _Mapping]]] = ..., threeway: _Optional[_Iterable[_Union[InteractionStatistic, _Mapping]]] = ..., importance: _Optional[_Iterable[_Union[InteractionStatistic, _Mapping]]] = ..., confidence_level: _Optional[float] = ...) -> None: ...

class InteractionStatistic(_message.Message):
    __slots__ = ("features", "numerators", "denominators", "values", "standard_errors", "lower", "upper", "biases", "p_values", "numerator_errors")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    NUMERATORS_FIELD_NUMBER: _ClassVar[int]
    DENOMINATORS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    BIASES_FIELD_NUMBER: _ClassVar[int]
    P_VALUES_FIELD_NUMBER: _ClassVar[int]
    NUMERATOR_ERRORS_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    numerators: _containers.RepeatedScalarFieldContainer[float]
    denominators: _containers.RepeatedScalarFieldContainer[float]
    values: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    biases: _containers.RepeatedScalarFieldContainer[float]
    p_values: _containers.RepeatedScalarFieldContainer[float]
    numerator_errors: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., numerators: _Optional[_Iterable[float]] = ..., denominators: _Optional[_Iterable[float]] = ..., values: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ..., biases: _Optional[_Iterable[float]] = ..., p_values: _Optional[_Iterable[float]] = ..., numerator_errors: _Optional[_Iterable[float]] = ...) -> None: ...
