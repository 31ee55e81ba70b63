from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FeatureVectorsOptions(_message.Message):
    __slots__ = ("source", "features", "window", "counting", "fill_diagonal", "min_split_count", "sentence_count", "depth", "one_hot_target", "dimension_count", "row_indices", "repeat_count", "importance_floor", "group_angle_degrees", "neighbor_count", "knockoffs", "include_cooccurrence", "include_similarity", "groups")
    class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SOURCE_UNSPECIFIED: _ClassVar[FeatureVectorsOptions.Source]
        MODEL: _ClassVar[FeatureVectorsOptions.Source]
        SURROGATE: _ClassVar[FeatureVectorsOptions.Source]
        LABELS: _ClassVar[FeatureVectorsOptions.Source]
    SOURCE_UNSPECIFIED: FeatureVectorsOptions.Source
    MODEL: FeatureVectorsOptions.Source
    SURROGATE: FeatureVectorsOptions.Source
    LABELS: FeatureVectorsOptions.Source
    class Counting(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        COUNTING_UNSPECIFIED: _ClassVar[FeatureVectorsOptions.Counting]
        PER_WINDOW: _ClassVar[FeatureVectorsOptions.Counting]
        PER_PATH: _ClassVar[FeatureVectorsOptions.Counting]
    COUNTING_UNSPECIFIED: FeatureVectorsOptions.Counting
    PER_WINDOW: FeatureVectorsOptions.Counting
    PER_PATH: FeatureVectorsOptions.Counting
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    COUNTING_FIELD_NUMBER: _ClassVar[int]
    FILL_DIAGONAL_FIELD_NUMBER: _ClassVar[int]
    MIN_SPLIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_COUNT_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    ONE_HOT_TARGET_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_COUNT_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FLOOR_FIELD_NUMBER: _ClassVar[int]
    GROUP_ANGLE_DEGREES_FIELD_NUMBER: _ClassVar[int]
    NEIGHBOR_COUNT_FIELD_NUMBER: _ClassVar[int]
    KNOCKOFFS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_COOCCURRENCE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    source: FeatureVectorsOptions.Source
    features: _containers.RepeatedScalarFieldContainer[str]
    window: int
    counting: FeatureVectorsOptions.Counting
    fill_diagonal: bool
    min_split_count: int
    sentence_count: int
    depth: int
    one_hot_target: bool
    dimension_count: int
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    repeat_count: int
    importance_floor: float
    group_angle_degrees: float
    neighbor_count: int
    knockoffs: KnockoffOptions
    include_cooccurrence: bool
    include_similarity: bool
    groups: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    def __init__(self, source: _Optional[_Union[FeatureVectorsOptions.Source, str]] = ..., features: _Optional[_Iterable[str]] = ..., window: _Optional[int] = ..., counting: _Optional[_Union[FeatureVectorsOptions.Counting, str]] = ..., fill_diagonal: bool = ..., min_split_count: _Optional[int] = ..., sentence_count: _Optional[int] = ..., depth: _Optional[int] = ..., one_hot_target: bool = ..., dimension_count: _Optional[int] = ..., row_indices: _Optional[_Iterable[int]] = ..., repeat_count: _Optional[int] = ..., importance_floor: _Optional[float] = ..., group_angle_degrees: _Optional[float] = ..., neighbor_count: _Optional[int] = ..., knockoffs: _Optional[_Union[KnockoffOptions, _Mapping]] = ..., include_cooccurrence: bool = ..., include_similarity: bool = ..., groups: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ...) -> None: ...

class KnockoffOptions(_message.Message):
    __slots__ = ("permutation_count", "component_count")
    PERMUTATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    COMPONENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    permutation_count: int
    component_count: int
    def __init__(self, permutation_count: _Optional[int] = ..., component_count: _Optional[int] = ...) -> None: ...

class FeatureVectorsResult(_message.Message):
    __slots__ = ("features", "source", "vectors", "norms", "relative_norms", "angles_degrees", "singular_values", "explained_variance_ratio", "explained_energy_ratio", "singular_gap", "sentence_count", "tree_count", "groups", "nearest", "norm_standard_errors", "angle_standard_errors_degrees", "rank_correlation", "forest", "knockoff_check", "cooccurrence", "similarity", "adjusted_similarity", "interchangeable")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    NORMS_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_NORMS_FIELD_NUMBER: _ClassVar[int]
    ANGLES_DEGREES_FIELD_NUMBER: _ClassVar[int]
    SINGULAR_VALUES_FIELD_NUMBER: _ClassVar[int]
    EXPLAINED_VARIANCE_RATIO_FIELD_NUMBER: _ClassVar[int]
    EXPLAINED_ENERGY_RATIO_FIELD_NUMBER: _ClassVar[int]
    SINGULAR_GAP_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_COUNT_FIELD_NUMBER: _ClassVar[int]
    TREE_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    NORM_STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    ANGLE_STANDARD_ERRORS_DEGREES_FIELD_NUMBER: _ClassVar[int]
    RANK_CORRELATION_FIELD_NUMBER: _ClassVar[int]
    FOREST_FIELD_NUMBER: _ClassVar[int]
    KNOCKOFF_CHECK_FIELD_NUMBER: _ClassVar[int]
    COOCCURRENCE_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    ADJUSTED_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    INTERCHANGEABLE_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    source: FeatureVectorsOptions.Source
    vectors: _containers.RepeatedScalarFieldContainer[float]
    norms: _containers.RepeatedScalarFieldContainer[float]
    relative_norms: _containers.RepeatedScalarFieldContainer[float]
    angles_degrees: _containers.RepeatedScalarFieldContainer[float]
    singular_values: _containers.RepeatedScalarFieldContainer[float]
    explained_variance_ratio: float
    explained_energy_ratio: float
    singular_gap: float
    sentence_count: int
    tree_count: int
    groups: _containers.RepeatedScalarFieldContainer[int]
    nearest: _containers.RepeatedCompositeFieldContainer[NearestFeatures]
    norm_standard_errors: _containers.RepeatedScalarFieldContainer[float]
    angle_standard_errors_degrees: _containers.RepeatedScalarFieldContainer[float]
    rank_correlation: float
    forest: GrownForest
    knockoff_check: KnockoffCheck
    cooccurrence: _containers.RepeatedScalarFieldContainer[float]
    similarity: _containers.RepeatedScalarFieldContainer[float]
    adjusted_similarity: _containers.RepeatedScalarFieldContainer[float]
    interchangeable: _containers.RepeatedCompositeFieldContainer[InterchangeablePair]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., source: _Optional[_Union[FeatureVectorsOptions.Source, str]] = ..., vectors: _Optional[_Iterable[float]] = ..., norms: _Optional[_Iterable[float]] = ..., relative_norms: _Optional[_Iterable[float]] = ..., angles_degrees: _Optional[_Iterable[float]] = ..., singular_values: _Optional[_Iterable[float]] = ..., explained_variance_ratio: _Optional[float] = ..., explained_energy_ratio: _Optional[float] = ..., singular_gap: _Optional[float] = ..., sentence_count: _Optional[int] = ..., tree_count: _Optional[int] = ..., groups: _Optional[_Iterable[int]] = ..., nearest: _Optional[_Iterable[_Union[NearestFeatures, _Mapping]]] = ..., norm_standard_errors: _Optional[_Iterable[float]] = ..., angle_standard_errors_degrees: _Optional[_Iterable[float]] = ..., rank_correlation: _Optional[float] = ..., forest: _Optional[_Union[GrownForest, _Mapping]] = ..., knockoff_check: _Optional[_Union[KnockoffCheck, _Mapping]] = ..., cooccurrence: _Optional[_Iterable[float]] = ..., similarity: _Optional[_Iterable[float]] = ..., adjusted_similarity: _Optional[_Iterable[float]] = ..., interchangeable: _Optional[_Iterable[_Union[InterchangeablePair, _Mapping]]] = ...) -> None: ...

class InterchangeablePair(_message.Message):
    __slots__ = ("first", "second", "adjusted_similarity", "lift", "lift_over_own", "repeat_share")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    ADJUSTED_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    LIFT_FIELD_NUMBER: _ClassVar[int]
    LIFT_OVER_OWN_FIELD_NUMBER: _ClassVar[int]
    REPEAT_SHARE_FIELD_NUMBER: _ClassVar[int]
    first: str
    second: str
    adjusted_similarity: float
    lift: float
    lift_over_own: float
    repeat_share: float
    def __init__(self, first: _Optional[str] = ..., second: _Optional[str] = ..., adjusted_similarity: _Optional[float] = ..., lift: _Optional[float] = ..., lift_over_own: _Optional[float] = ..., repeat_share: _Optional[float] = ...) -> None: ...

class NearestFeatures(_message.Message):
    __slots__ = ("features", "angles_degrees")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    ANGLES_DEGREES_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    angles_degrees: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., angles_degrees: _Optional[_Iterable[float]] = ...) -> None: ...

class GrownForest(_message.Message):
    __slots__ = ("depth", "fidelity")
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    FIDELITY_FIELD_NUMBER: _ClassVar[int]
    depth: int
    fidelity: float
    def __init__(self, depth: _Optional[int] = ..., fidelity: _Optional[float] = ...) -> None: ...

class KnockoffCheck(_message.Message):
    __slots__ = ("vectors", "knockoff_vectors", "norms", "knockoff_norms", "mean_angle_degrees", "p_value", "permuted_borders_degrees", "permuted_counts")
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    KNOCKOFF_VECTORS_FIELD_NUMBER: _ClassVar[int]
    NORMS_FIELD_NUMBER: _ClassVar[int]
    KNOCKOFF_NORMS_FIELD_NUMBER: _ClassVar[int]
    MEAN_ANGLE_DEGREES_FIELD_NUMBER: _ClassVar[int]
    P_VALUE_FIELD_NUMBER: _ClassVar[int]
    PERMUTED_BORDERS_DEGREES_FIELD_NUMBER: _ClassVar[int]
    PERMUTED_COUNTS_FIELD_NUMBER: _ClassVar[int]
    vectors: _containers.RepeatedScalarFieldContainer[float]
    knockoff_vectors: _containers.RepeatedScalarFieldContainer[float]
    norms: _containers.RepeatedScalarFieldContainer[float]
    knockoff_norms: _containers.RepeatedScalarFieldContainer[float]
    mean_angle_degrees: float
    p_value: float
    permuted_borders_degrees: _containers.RepeatedScalarFieldContainer[float]
    permuted_counts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, vectors: _Optional[_Iterable[float]] = ..., knockoff_vectors: _Optional[_Iterable[float]] = ..., norms: _Optional[_Iterable[float]] = ..., knockoff_norms: _Optional[_Iterable[float]] = ..., mean_angle_degrees: _Optional[float] = ..., p_value: _Optional[float] = ..., permuted_borders_degrees: _Optional[_Iterable[float]] = ..., permuted_counts: _Optional[_Iterable[int]] = ...) -> None: ...
