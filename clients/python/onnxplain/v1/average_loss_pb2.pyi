from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AverageLossOptions(_message.Message):
    __slots__ = ("loss", "target_columns", "one_hot_target", "sum_outputs", "group_column", "group_count", "loss_expression", "quantile", "threshold", "probability_floor", "query_column", "rank_count", "repeat_count", "confidence_level")
    class Loss(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        LOSS_UNSPECIFIED: _ClassVar[AverageLossOptions.Loss]
        SQUARED_ERROR: _ClassVar[AverageLossOptions.Loss]
        ABSOLUTE_ERROR: _ClassVar[AverageLossOptions.Loss]
        POISSON: _ClassVar[AverageLossOptions.Loss]
        GAMMA: _ClassVar[AverageLossOptions.Loss]
        LOGLOSS: _ClassVar[AverageLossOptions.Loss]
        MLOGLOSS: _ClassVar[AverageLossOptions.Loss]
        PINBALL: _ClassVar[AverageLossOptions.Loss]
        MAPE: _ClassVar[AverageLossOptions.Loss]
        ACCURACY: _ClassVar[AverageLossOptions.Loss]
        BALANCED_ACCURACY: _ClassVar[AverageLossOptions.Loss]
        F1: _ClassVar[AverageLossOptions.Loss]
        AUC: _ClassVar[AverageLossOptions.Loss]
        NDCG: _ClassVar[AverageLossOptions.Loss]
        PAIRWISE_ACCURACY: _ClassVar[AverageLossOptions.Loss]
    LOSS_UNSPECIFIED: AverageLossOptions.Loss
    SQUARED_ERROR: AverageLossOptions.Loss
    ABSOLUTE_ERROR: AverageLossOptions.Loss
    POISSON: AverageLossOptions.Loss
    GAMMA: AverageLossOptions.Loss
    LOGLOSS: AverageLossOptions.Loss
    MLOGLOSS: AverageLossOptions.Loss
    PINBALL: AverageLossOptions.Loss
    MAPE: AverageLossOptions.Loss
    ACCURACY: AverageLossOptions.Loss
    BALANCED_ACCURACY: AverageLossOptions.Loss
    F1: AverageLossOptions.Loss
    AUC: AverageLossOptions.Loss
    NDCG: AverageLossOptions.Loss
    PAIRWISE_ACCURACY: AverageLossOptions.Loss
    LOSS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ONE_HOT_TARGET_FIELD_NUMBER: _ClassVar[int]
    SUM_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    GROUP_COLUMN_FIELD_NUMBER: _ClassVar[int]
    GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    LOSS_EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    QUANTILE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FLOOR_FIELD_NUMBER: _ClassVar[int]
    QUERY_COLUMN_FIELD_NUMBER: _ClassVar[int]
    RANK_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    loss: AverageLossOptions.Loss
    target_columns: _containers.RepeatedScalarFieldContainer[str]
    one_hot_target: bool
    sum_outputs: bool
    group_column: str
    group_count: int
    loss_expression: str
    quantile: float
    threshold: float
    probability_floor: float
    query_column: str
    rank_count: int
    repeat_count: int
    confidence_level: float
    def __init__(self, loss: _Optional[_Union[AverageLossOptions.Loss, str]] = ..., target_columns: _Optional[_Iterable[str]] = ..., one_hot_target: bool = ..., sum_outputs: bool = ..., group_column: _Optional[str] = ..., group_count: _Optional[int] = ..., loss_expression: _Optional[str] = ..., quantile: _Optional[float] = ..., threshold: _Optional[float] = ..., probability_floor: _Optional[float] = ..., query_column: _Optional[str] = ..., rank_count: _Optional[int] = ..., repeat_count: _Optional[int] = ..., confidence_level: _Optional[float] = ...) -> None: ...

class AverageLossResult(_message.Message):
    __slots__ = ("output_names", "losses", "constant_losses", "confidence_level")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    LOSSES_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_LOSSES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    losses: _containers.RepeatedCompositeFieldContainer[AverageLoss]
    constant_losses: _containers.RepeatedScalarFieldContainer[float]
    confidence_level: float
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., losses: _Optional[_Iterable[_Union[AverageLoss, _Mapping]]] = ..., constant_losses: _Optional[_Iterable[float]] = ..., confidence_level: _Optional[float] = ...) -> None: ...

class AverageLoss(_message.Message):
    __slots__ = ("group", "values", "weight", "standard_errors", "lower", "upper")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    group: str
    values: _containers.RepeatedScalarFieldContainer[float]
    weight: float
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, group: _Optional[str] = ..., values: _Optional[_Iterable[float]] = ..., weight: _Optional[float] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ...) -> None: ...
