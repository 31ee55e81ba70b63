from onnxplain.v1 import plot_pb2 as _plot_pb2
from onnxplain.v1 import table_pb2 as _table_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StatisticReplicates(_message.Message):
    __slots__ = ("output_names", "statistics")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    statistics: _containers.RepeatedCompositeFieldContainer[ReplicatedStatistic]
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., statistics: _Optional[_Iterable[_Union[ReplicatedStatistic, _Mapping]]] = ...) -> None: ...

class ReplicatedStatistic(_message.Message):
    __slots__ = ("kind", "features", "group", "grid", "values", "replicates", "unit_count", "is_stepped")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[ReplicatedStatistic.Kind]
        TOTAL_INTERACTION: _ClassVar[ReplicatedStatistic.Kind]
        OVERALL_INTERACTION: _ClassVar[ReplicatedStatistic.Kind]
        PAIRWISE_INTERACTION: _ClassVar[ReplicatedStatistic.Kind]
        THREEWAY_INTERACTION: _ClassVar[ReplicatedStatistic.Kind]
        IMPORTANCE: _ClassVar[ReplicatedStatistic.Kind]
        TOTAL_INTERACTION_SQUARE: _ClassVar[ReplicatedStatistic.Kind]
        OVERALL_INTERACTION_SQUARE: _ClassVar[ReplicatedStatistic.Kind]
        PAIRWISE_INTERACTION_SQUARE: _ClassVar[ReplicatedStatistic.Kind]
        THREEWAY_INTERACTION_SQUARE: _ClassVar[ReplicatedStatistic.Kind]
        IMPORTANCE_SQUARE: _ClassVar[ReplicatedStatistic.Kind]
        AVERAGE_LOSS: _ClassVar[ReplicatedStatistic.Kind]
        FIRM_IMPORTANCE: _ClassVar[ReplicatedStatistic.Kind]
        FIRM_IMPORTANCE_SQUARE: _ClassVar[ReplicatedStatistic.Kind]
        MEAN_ABSOLUTE_ATTRIBUTION: _ClassVar[ReplicatedStatistic.Kind]
        PARTIAL_DEPENDENCE: _ClassVar[ReplicatedStatistic.Kind]
        ACCUMULATED_LOCAL_EFFECT: _ClassVar[ReplicatedStatistic.Kind]
        PERMUTATION_IMPORTANCE: _ClassVar[ReplicatedStatistic.Kind]
    KIND_UNSPECIFIED: ReplicatedStatistic.Kind
    TOTAL_INTERACTION: ReplicatedStatistic.Kind
    OVERALL_INTERACTION: ReplicatedStatistic.Kind
    PAIRWISE_INTERACTION: ReplicatedStatistic.Kind
    THREEWAY_INTERACTION: ReplicatedStatistic.Kind
    IMPORTANCE: ReplicatedStatistic.Kind
    TOTAL_INTERACTION_SQUARE: ReplicatedStatistic.Kind
    OVERALL_INTERACTION_SQUARE: ReplicatedStatistic.Kind
    PAIRWISE_INTERACTION_SQUARE: ReplicatedStatistic.Kind
    THREEWAY_INTERACTION_SQUARE: ReplicatedStatistic.Kind
    IMPORTANCE_SQUARE: ReplicatedStatistic.Kind
    AVERAGE_LOSS: ReplicatedStatistic.Kind
    FIRM_IMPORTANCE: ReplicatedStatistic.Kind
    FIRM_IMPORTANCE_SQUARE: ReplicatedStatistic.Kind
    MEAN_ABSOLUTE_ATTRIBUTION: ReplicatedStatistic.Kind
    PARTIAL_DEPENDENCE: ReplicatedStatistic.Kind
    ACCUMULATED_LOCAL_EFFECT: ReplicatedStatistic.Kind
    PERMUTATION_IMPORTANCE: ReplicatedStatistic.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    REPLICATES_FIELD_NUMBER: _ClassVar[int]
    UNIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    IS_STEPPED_FIELD_NUMBER: _ClassVar[int]
    kind: ReplicatedStatistic.Kind
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    grid: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    values: _containers.RepeatedScalarFieldContainer[float]
    replicates: _containers.RepeatedScalarFieldContainer[float]
    unit_count: float
    is_stepped: bool
    def __init__(self, kind: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., grid: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., values: _Optional[_Iterable[float]] = ..., replicates: _Optional[_Iterable[float]] = ..., unit_count: _Optional[float] = ..., is_stepped: bool = ...) -> None: ...

class ComparisonOptions(_message.Message):
    __slots__ = ("confidence_level", "correction", "leading_count")
    class Correction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CORRECTION_UNSPECIFIED: _ClassVar[ComparisonOptions.Correction]
        HOLM: _ClassVar[ComparisonOptions.Correction]
        BENJAMINI_HOCHBERG: _ClassVar[ComparisonOptions.Correction]
        NONE: _ClassVar[ComparisonOptions.Correction]
    CORRECTION_UNSPECIFIED: ComparisonOptions.Correction
    HOLM: ComparisonOptions.Correction
    BENJAMINI_HOCHBERG: ComparisonOptions.Correction
    NONE: ComparisonOptions.Correction
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    CORRECTION_FIELD_NUMBER: _ClassVar[int]
    LEADING_COUNT_FIELD_NUMBER: _ClassVar[int]
    confidence_level: float
    correction: ComparisonOptions.Correction
    leading_count: int
    def __init__(self, confidence_level: _Optional[float] = ..., correction: _Optional[_Union[ComparisonOptions.Correction, str]] = ..., leading_count: _Optional[int] = ...) -> None: ...

class ExplanationComparison(_message.Message):
    __slots__ = ("is_paired", "pairing_reason", "reference_model_digest", "reference_table_digest", "reference_model_name", "options", "tested_count", "differences", "curves", "rankings", "unmatched", "plots", "findings", "summary")
    class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        VERDICT_UNSPECIFIED: _ClassVar[ExplanationComparison.Verdict]
        CHANGED: _ClassVar[ExplanationComparison.Verdict]
        NOT_SHOWN: _ClassVar[ExplanationComparison.Verdict]
        NOT_TESTED: _ClassVar[ExplanationComparison.Verdict]
    VERDICT_UNSPECIFIED: ExplanationComparison.Verdict
    CHANGED: ExplanationComparison.Verdict
    NOT_SHOWN: ExplanationComparison.Verdict
    NOT_TESTED: ExplanationComparison.Verdict
    IS_PAIRED_FIELD_NUMBER: _ClassVar[int]
    PAIRING_REASON_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_TABLE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TESTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    CURVES_FIELD_NUMBER: _ClassVar[int]
    RANKINGS_FIELD_NUMBER: _ClassVar[int]
    UNMATCHED_FIELD_NUMBER: _ClassVar[int]
    PLOTS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    is_paired: bool
    pairing_reason: str
    reference_model_digest: str
    reference_table_digest: str
    reference_model_name: str
    options: ComparisonOptions
    tested_count: int
    differences: _containers.RepeatedCompositeFieldContainer[StatisticDifference]
    curves: _containers.RepeatedCompositeFieldContainer[CurveDifference]
    rankings: _containers.RepeatedCompositeFieldContainer[RankingComparison]
    unmatched: _containers.RepeatedCompositeFieldContainer[UnmatchedStatistic]
    plots: _containers.RepeatedCompositeFieldContainer[_plot_pb2.Plot]
    findings: _containers.RepeatedCompositeFieldContainer[RuleFinding]
    summary: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, is_paired: bool = ..., pairing_reason: _Optional[str] = ..., reference_model_digest: _Optional[str] = ..., reference_table_digest: _Optional[str] = ..., reference_model_name: _Optional[str] = ..., options: _Optional[_Union[ComparisonOptions, _Mapping]] = ..., tested_count: _Optional[int] = ..., differences: _Optional[_Iterable[_Union[StatisticDifference, _Mapping]]] = ..., curves: _Optional[_Iterable[_Union[CurveDifference, _Mapping]]] = ..., rankings: _Optional[_Iterable[_Union[RankingComparison, _Mapping]]] = ..., unmatched: _Optional[_Iterable[_Union[UnmatchedStatistic, _Mapping]]] = ..., plots: _Optional[_Iterable[_Union[_plot_pb2.Plot, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[RuleFinding, _Mapping]]] = ..., summary: _Optional[_Iterable[str]] = ...) -> None: ...

class StatisticDifference(_message.Message):
    __slots__ = ("explanation_index", "kind", "features", "group", "output_name", "reference_value", "value", "difference", "standard_error", "bias", "lower", "upper", "p_value", "adjusted_p_value", "verdict")
    EXPLANATION_INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERROR_FIELD_NUMBER: _ClassVar[int]
    BIAS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    P_VALUE_FIELD_NUMBER: _ClassVar[int]
    ADJUSTED_P_VALUE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    explanation_index: int
    kind: ReplicatedStatistic.Kind
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    output_name: str
    reference_value: float
    value: float
    difference: float
    standard_error: float
    bias: float
    lower: float
    upper: float
    p_value: float
    adjusted_p_value: float
    verdict: ExplanationComparison.Verdict
    def __init__(self, explanation_index: _Optional[int] = ..., kind: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., output_name: _Optional[str] = ..., reference_value: _Optional[float] = ..., value: _Optional[float] = ..., difference: _Optional[float] = ..., standard_error: _Optional[float] = ..., bias: _Optional[float] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ..., p_value: _Optional[float] = ..., adjusted_p_value: _Optional[float] = ..., verdict: _Optional[_Union[ExplanationComparison.Verdict, str]] = ...) -> None: ...

class CurveDifference(_message.Message):
    __slots__ = ("explanation_index", "kind", "features", "group", "output_name", "grid", "reference_values", "values", "differences", "standard_errors", "lower", "upper", "simultaneous_lower", "simultaneous_upper", "p_value", "adjusted_p_value", "verdict")
    EXPLANATION_INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_VALUES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_LOWER_FIELD_NUMBER: _ClassVar[int]
    SIMULTANEOUS_UPPER_FIELD_NUMBER: _ClassVar[int]
    P_VALUE_FIELD_NUMBER: _ClassVar[int]
    ADJUSTED_P_VALUE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    explanation_index: int
    kind: ReplicatedStatistic.Kind
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    output_name: str
    grid: _containers.RepeatedCompositeFieldContainer[_table_pb2.Column]
    reference_values: _containers.RepeatedScalarFieldContainer[float]
    values: _containers.RepeatedScalarFieldContainer[float]
    differences: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_lower: _containers.RepeatedScalarFieldContainer[float]
    simultaneous_upper: _containers.RepeatedScalarFieldContainer[float]
    p_value: float
    adjusted_p_value: float
    verdict: ExplanationComparison.Verdict
    def __init__(self, explanation_index: _Optional[int] = ..., kind: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., output_name: _Optional[str] = ..., grid: _Optional[_Iterable[_Union[_table_pb2.Column, _Mapping]]] = ..., reference_values: _Optional[_Iterable[float]] = ..., values: _Optional[_Iterable[float]] = ..., differences: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ..., simultaneous_lower: _Optional[_Iterable[float]] = ..., simultaneous_upper: _Optional[_Iterable[float]] = ..., p_value: _Optional[float] = ..., adjusted_p_value: _Optional[float] = ..., verdict: _Optional[_Union[ExplanationComparison.Verdict, str]] = ...) -> None: ...

class RankingComparison(_message.Message):
    __slots__ = ("explanation_index", "kind", "output_name", "feature_count", "rank_correlation", "rank_correlation_lower", "rank_correlation_upper", "ndcg", "ndcg_lower", "ndcg_upper", "leading_changes", "same_leading_share")
    EXPLANATION_INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    FEATURE_COUNT_FIELD_NUMBER: _ClassVar[int]
    RANK_CORRELATION_FIELD_NUMBER: _ClassVar[int]
    RANK_CORRELATION_LOWER_FIELD_NUMBER: _ClassVar[int]
    RANK_CORRELATION_UPPER_FIELD_NUMBER: _ClassVar[int]
    NDCG_FIELD_NUMBER: _ClassVar[int]
    NDCG_LOWER_FIELD_NUMBER: _ClassVar[int]
    NDCG_UPPER_FIELD_NUMBER: _ClassVar[int]
    LEADING_CHANGES_FIELD_NUMBER: _ClassVar[int]
    SAME_LEADING_SHARE_FIELD_NUMBER: _ClassVar[int]
    explanation_index: int
    kind: ReplicatedStatistic.Kind
    output_name: str
    feature_count: int
    rank_correlation: float
    rank_correlation_lower: float
    rank_correlation_upper: float
    ndcg: float
    ndcg_lower: float
    ndcg_upper: float
    leading_changes: _containers.RepeatedCompositeFieldContainer[LeadingChange]
    same_leading_share: float
    def __init__(self, explanation_index: _Optional[int] = ..., kind: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., output_name: _Optional[str] = ..., feature_count: _Optional[int] = ..., rank_correlation: _Optional[float] = ..., rank_correlation_lower: _Optional[float] = ..., rank_correlation_upper: _Optional[float] = ..., ndcg: _Optional[float] = ..., ndcg_lower: _Optional[float] = ..., ndcg_upper: _Optional[float] = ..., leading_changes: _Optional[_Iterable[_Union[LeadingChange, _Mapping]]] = ..., same_leading_share: _Optional[float] = ...) -> None: ...

class LeadingChange(_message.Message):
    __slots__ = ("features", "reference_rank", "rank", "replicate_share")
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_RANK_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    REPLICATE_SHARE_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    reference_rank: int
    rank: int
    replicate_share: float
    def __init__(self, features: _Optional[_Iterable[str]] = ..., reference_rank: _Optional[int] = ..., rank: _Optional[int] = ..., replicate_share: _Optional[float] = ...) -> None: ...

class UnmatchedStatistic(_message.Message):
    __slots__ = ("kind", "features", "group", "output_name", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: ReplicatedStatistic.Kind
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    output_name: str
    reason: str
    def __init__(self, kind: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., output_name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ComparisonRule(_message.Message):
    __slots__ = ("name", "statistic", "ranking", "features", "group", "output", "holds", "max_change", "new_leading_features", "level")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATISTIC_FIELD_NUMBER: _ClassVar[int]
    RANKING_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    MAX_CHANGE_FIELD_NUMBER: _ClassVar[int]
    NEW_LEADING_FEATURES_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    name: str
    statistic: ReplicatedStatistic.Kind
    ranking: ReplicatedStatistic.Kind
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    output: str
    holds: str
    max_change: float
    new_leading_features: bool
    level: float
    def __init__(self, name: _Optional[str] = ..., statistic: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., ranking: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., output: _Optional[str] = ..., holds: _Optional[str] = ..., max_change: _Optional[float] = ..., new_leading_features: bool = ..., level: _Optional[float] = ...) -> None: ...

class RuleFinding(_message.Message):
    __slots__ = ("rule", "verdict", "explanation_index", "kind", "features", "group", "output_name", "reference_value", "value", "margin", "lower", "upper", "count", "missed_count", "reason")
    class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        VERDICT_UNSPECIFIED: _ClassVar[RuleFinding.Verdict]
        HOLDS: _ClassVar[RuleFinding.Verdict]
        FAILS: _ClassVar[RuleFinding.Verdict]
        UNDECIDED: _ClassVar[RuleFinding.Verdict]
    VERDICT_UNSPECIFIED: RuleFinding.Verdict
    HOLDS: RuleFinding.Verdict
    FAILS: RuleFinding.Verdict
    UNDECIDED: RuleFinding.Verdict
    RULE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    MARGIN_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MISSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    rule: ComparisonRule
    verdict: RuleFinding.Verdict
    explanation_index: int
    kind: ReplicatedStatistic.Kind
    features: _containers.RepeatedScalarFieldContainer[str]
    group: str
    output_name: str
    reference_value: float
    value: float
    margin: float
    lower: float
    upper: float
    count: int
    missed_count: int
    reason: str
    def __init__(self, rule: _Optional[_Union[ComparisonRule, _Mapping]] = ..., verdict: _Optional[_Union[RuleFinding.Verdict, str]] = ..., explanation_index: _Optional[int] = ..., kind: _Optional[_Union[ReplicatedStatistic.Kind, str]] = ..., features: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., output_name: _Optional[str] = ..., reference_value: _Optional[float] = ..., value: _Optional[float] = ..., margin: _Optional[float] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ..., count: _Optional[int] = ..., missed_count: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...
