from onnxplain.v1 import average_loss_pb2 as _average_loss_pb2
from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PermutationImportanceOptions(_message.Message):
    __slots__ = ("features", "loss", "target_columns", "one_hot_target", "sum_outputs", "repeat_count", "normalize", "loss_expression", "quantile", "threshold", "probability_floor", "query_column", "rank_count")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ONE_HOT_TARGET_FIELD_NUMBER: _ClassVar[int]
    SUM_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    LOSS_EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    QUANTILE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FLOOR_FIELD_NUMBER: _ClassVar[int]
    QUERY_COLUMN_FIELD_NUMBER: _ClassVar[int]
    RANK_COUNT_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    loss: _average_loss_pb2.AverageLossOptions.Loss
    target_columns: _containers.RepeatedScalarFieldContainer[str]
    one_hot_target: bool
    sum_outputs: bool
    repeat_count: int
    normalize: bool
    loss_expression: str
    quantile: float
    threshold: float
    probability_floor: float
    query_column: str
    rank_count: int
    def __init__(self, features: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ..., loss: _Optional[_Union[_average_loss_pb2.AverageLossOptions.Loss, str]] = ..., target_columns: _Optional[_Iterable[str]] = ..., one_hot_target: bool = ..., sum_outputs: bool = ..., repeat_count: _Optional[int] = ..., normalize: bool = ..., loss_expression: _Optional[str] = ..., quantile: _Optional[float] = ..., threshold: _Optional[float] = ..., probability_floor: _Optional[float] = ..., query_column: _Optional[str] = ..., rank_count: _Optional[int] = ...) -> None: ...

class PermutationImportanceResult(_message.Message):
    __slots__ = ("output_names", "baseline_losses", "importances")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    BASELINE_LOSSES_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    baseline_losses: _containers.RepeatedScalarFieldContainer[float]
    importances: _containers.RepeatedCompositeFieldContainer[PermutationImportance]
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., baseline_losses: _Optional[_Iterable[float]] = ..., importances: _Optional[_Iterable[_Union[PermutationImportance, _Mapping]]] = ...) -> None: ...

class PermutationImportance(_message.Message):
    __slots__ = ("features", "values", "standard_errors", "lower", "upper")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., values: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ...) -> None: ...
