from onnxplain.v1 import average_loss_pb2 as _average_loss_pb2
from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SwarmOptions(_message.Message):
    __slots__ = ("features", "classes", "search", "score", "loss", "target_columns", "particle_count", "iteration_count", "restart_count", "weight_limit", "velocity_limit", "start", "perturbation", "zero_offset", "row_indices", "window_count", "sliver_width", "point_count", "loss_expression", "quantile", "groups")
    class Search(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SEARCH_UNSPECIFIED: _ClassVar[SwarmOptions.Search]
        EXACT: _ClassVar[SwarmOptions.Search]
        PUBLISHED: _ClassVar[SwarmOptions.Search]
        DIFFERENTIAL_EVOLUTION: _ClassVar[SwarmOptions.Search]
    SEARCH_UNSPECIFIED: SwarmOptions.Search
    EXACT: SwarmOptions.Search
    PUBLISHED: SwarmOptions.Search
    DIFFERENTIAL_EVOLUTION: SwarmOptions.Search
    class Score(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SCORE_UNSPECIFIED: _ClassVar[SwarmOptions.Score]
        ACCURACY: _ClassVar[SwarmOptions.Score]
        F1: _ClassVar[SwarmOptions.Score]
        BALANCED_ACCURACY: _ClassVar[SwarmOptions.Score]
    SCORE_UNSPECIFIED: SwarmOptions.Score
    ACCURACY: SwarmOptions.Score
    F1: SwarmOptions.Score
    BALANCED_ACCURACY: SwarmOptions.Score
    class Perturbation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PERTURBATION_UNSPECIFIED: _ClassVar[SwarmOptions.Perturbation]
        MULTIPLICATION: _ClassVar[SwarmOptions.Perturbation]
        GAUSSIAN: _ClassVar[SwarmOptions.Perturbation]
    PERTURBATION_UNSPECIFIED: SwarmOptions.Perturbation
    MULTIPLICATION: SwarmOptions.Perturbation
    GAUSSIAN: SwarmOptions.Perturbation
    class Start(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        START_UNSPECIFIED: _ClassVar[SwarmOptions.Start]
        UNPERTURBED: _ClassVar[SwarmOptions.Start]
        UNIFORM: _ClassVar[SwarmOptions.Start]
    START_UNSPECIFIED: SwarmOptions.Start
    UNPERTURBED: SwarmOptions.Start
    UNIFORM: SwarmOptions.Start
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    PARTICLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    ITERATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    RESTART_COUNT_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_LIMIT_FIELD_NUMBER: _ClassVar[int]
    VELOCITY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    PERTURBATION_FIELD_NUMBER: _ClassVar[int]
    ZERO_OFFSET_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    WINDOW_COUNT_FIELD_NUMBER: _ClassVar[int]
    SLIVER_WIDTH_FIELD_NUMBER: _ClassVar[int]
    POINT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LOSS_EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    QUANTILE_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    classes: _containers.RepeatedScalarFieldContainer[str]
    search: SwarmOptions.Search
    score: SwarmOptions.Score
    loss: _average_loss_pb2.AverageLossOptions.Loss
    target_columns: _containers.RepeatedScalarFieldContainer[str]
    particle_count: int
    iteration_count: int
    restart_count: int
    weight_limit: float
    velocity_limit: float
    start: SwarmOptions.Start
    perturbation: SwarmOptions.Perturbation
    zero_offset: float
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    window_count: int
    sliver_width: float
    point_count: int
    loss_expression: str
    quantile: float
    groups: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., classes: _Optional[_Iterable[str]] = ..., search: _Optional[_Union[SwarmOptions.Search, str]] = ..., score: _Optional[_Union[SwarmOptions.Score, str]] = ..., loss: _Optional[_Union[_average_loss_pb2.AverageLossOptions.Loss, str]] = ..., target_columns: _Optional[_Iterable[str]] = ..., particle_count: _Optional[int] = ..., iteration_count: _Optional[int] = ..., restart_count: _Optional[int] = ..., weight_limit: _Optional[float] = ..., velocity_limit: _Optional[float] = ..., start: _Optional[_Union[SwarmOptions.Start, str]] = ..., perturbation: _Optional[_Union[SwarmOptions.Perturbation, str]] = ..., zero_offset: _Optional[float] = ..., row_indices: _Optional[_Iterable[int]] = ..., window_count: _Optional[int] = ..., sliver_width: _Optional[float] = ..., point_count: _Optional[int] = ..., loss_expression: _Optional[str] = ..., quantile: _Optional[float] = ..., groups: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ...) -> None: ...

class SwarmResult(_message.Message):
    __slots__ = ("class_names", "features", "effects", "baseline_score", "importances", "similarity", "window_borders")
    CLASS_NAMES_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    BASELINE_SCORE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    WINDOW_BORDERS_FIELD_NUMBER: _ClassVar[int]
    class_names: _containers.RepeatedScalarFieldContainer[str]
    features: _containers.RepeatedScalarFieldContainer[str]
    effects: _containers.RepeatedCompositeFieldContainer[SwarmEffect]
    baseline_score: float
    importances: _containers.RepeatedCompositeFieldContainer[SwarmImportance]
    similarity: _containers.RepeatedScalarFieldContainer[float]
    window_borders: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, class_names: _Optional[_Iterable[str]] = ..., features: _Optional[_Iterable[str]] = ..., effects: _Optional[_Iterable[_Union[SwarmEffect, _Mapping]]] = ..., baseline_score: _Optional[float] = ..., importances: _Optional[_Iterable[_Union[SwarmImportance, _Mapping]]] = ..., similarity: _Optional[_Iterable[float]] = ..., window_borders: _Optional[_Iterable[float]] = ...) -> None: ...

class SwarmImportance(_message.Message):
    __slots__ = ("feature", "value", "relative_value")
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_VALUE_FIELD_NUMBER: _ClassVar[int]
    feature: str
    value: float
    relative_value: float
    def __init__(self, feature: _Optional[str] = ..., value: _Optional[float] = ..., relative_value: _Optional[float] = ...) -> None: ...

class SwarmEffect(_message.Message):
    __slots__ = ("class_name", "feature", "row_index", "row_count", "importance", "best_weight", "best_score", "mean_weight_distance", "mean_score_drop", "optimum", "stable_optimum", "agreement", "curve", "windows", "class_similarities", "values", "particle_weights", "reach")
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    ROW_INDEX_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    BEST_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    BEST_SCORE_FIELD_NUMBER: _ClassVar[int]
    MEAN_WEIGHT_DISTANCE_FIELD_NUMBER: _ClassVar[int]
    MEAN_SCORE_DROP_FIELD_NUMBER: _ClassVar[int]
    OPTIMUM_FIELD_NUMBER: _ClassVar[int]
    STABLE_OPTIMUM_FIELD_NUMBER: _ClassVar[int]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    CURVE_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    CLASS_SIMILARITIES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    PARTICLE_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    REACH_FIELD_NUMBER: _ClassVar[int]
    class_name: str
    feature: str
    row_index: int
    row_count: int
    importance: float
    best_weight: float
    best_score: float
    mean_weight_distance: float
    mean_score_drop: float
    optimum: SwarmOptimum
    stable_optimum: SwarmOptimum
    agreement: float
    curve: SwarmCurve
    windows: SwarmWindows
    class_similarities: _containers.RepeatedScalarFieldContainer[float]
    values: SwarmHistogram
    particle_weights: _containers.RepeatedScalarFieldContainer[float]
    reach: SwarmReach
    def __init__(self, class_name: _Optional[str] = ..., feature: _Optional[str] = ..., row_index: _Optional[int] = ..., row_count: _Optional[int] = ..., importance: _Optional[float] = ..., best_weight: _Optional[float] = ..., best_score: _Optional[float] = ..., mean_weight_distance: _Optional[float] = ..., mean_score_drop: _Optional[float] = ..., optimum: _Optional[_Union[SwarmOptimum, _Mapping]] = ..., stable_optimum: _Optional[_Union[SwarmOptimum, _Mapping]] = ..., agreement: _Optional[float] = ..., curve: _Optional[_Union[SwarmCurve, _Mapping]] = ..., windows: _Optional[_Union[SwarmWindows, _Mapping]] = ..., class_similarities: _Optional[_Iterable[float]] = ..., values: _Optional[_Union[SwarmHistogram, _Mapping]] = ..., particle_weights: _Optional[_Iterable[float]] = ..., reach: _Optional[_Union[SwarmReach, _Mapping]] = ...) -> None: ...

class SwarmReach(_message.Message):
    __slots__ = ("observed_low", "observed_high", "moved_low", "moved_high", "outside_share", "feature")
    OBSERVED_LOW_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_HIGH_FIELD_NUMBER: _ClassVar[int]
    MOVED_LOW_FIELD_NUMBER: _ClassVar[int]
    MOVED_HIGH_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_SHARE_FIELD_NUMBER: _ClassVar[int]
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    observed_low: float
    observed_high: float
    moved_low: float
    moved_high: float
    outside_share: float
    feature: str
    def __init__(self, observed_low: _Optional[float] = ..., observed_high: _Optional[float] = ..., moved_low: _Optional[float] = ..., moved_high: _Optional[float] = ..., outside_share: _Optional[float] = ..., feature: _Optional[str] = ...) -> None: ...

class SwarmOptimum(_message.Message):
    __slots__ = ("weight", "score", "low", "high")
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    weight: float
    score: float
    low: float
    high: float
    def __init__(self, weight: _Optional[float] = ..., score: _Optional[float] = ..., low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class SwarmCurve(_message.Message):
    __slots__ = ("weights", "scores", "class_shares", "is_joined")
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    CLASS_SHARES_FIELD_NUMBER: _ClassVar[int]
    IS_JOINED_FIELD_NUMBER: _ClassVar[int]
    weights: _containers.RepeatedScalarFieldContainer[float]
    scores: _containers.RepeatedScalarFieldContainer[float]
    class_shares: _containers.RepeatedScalarFieldContainer[float]
    is_joined: bool
    def __init__(self, weights: _Optional[_Iterable[float]] = ..., scores: _Optional[_Iterable[float]] = ..., class_shares: _Optional[_Iterable[float]] = ..., is_joined: bool = ...) -> None: ...

class SwarmWindows(_message.Message):
    __slots__ = ("scores", "class_shares")
    SCORES_FIELD_NUMBER: _ClassVar[int]
    CLASS_SHARES_FIELD_NUMBER: _ClassVar[int]
    scores: _containers.RepeatedScalarFieldContainer[float]
    class_shares: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, scores: _Optional[_Iterable[float]] = ..., class_shares: _Optional[_Iterable[float]] = ...) -> None: ...

class SwarmHistogram(_message.Message):
    __slots__ = ("borders", "counts")
    BORDERS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    borders: _containers.RepeatedScalarFieldContainer[float]
    counts: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, borders: _Optional[_Iterable[float]] = ..., counts: _Optional[_Iterable[float]] = ...) -> None: ...
