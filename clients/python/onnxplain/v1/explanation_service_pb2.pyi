import datetime

from google.longrunning import operations_proto_pb2 as _operations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from onnxplain.v1 import accumulated_local_effects_pb2 as _accumulated_local_effects_pb2
from onnxplain.v1 import attributions_pb2 as _attributions_pb2
from onnxplain.v1 import average_loss_pb2 as _average_loss_pb2
from onnxplain.v1 import explanation_comparison_pb2 as _explanation_comparison_pb2
from onnxplain.v1 import feature_vectors_pb2 as _feature_vectors_pb2
from onnxplain.v1 import firm_pb2 as _firm_pb2
from onnxplain.v1 import individual_conditional_expectation_pb2 as _individual_conditional_expectation_pb2
from onnxplain.v1 import interactions_pb2 as _interactions_pb2
from onnxplain.v1 import model_pb2 as _model_pb2
from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from onnxplain.v1 import permutation_importance_pb2 as _permutation_importance_pb2
from onnxplain.v1 import plan_pb2 as _plan_pb2
from onnxplain.v1 import plot_pb2 as _plot_pb2
from onnxplain.v1 import prediction_comparison_pb2 as _prediction_comparison_pb2
from onnxplain.v1 import swarm_pb2 as _swarm_pb2
from onnxplain.v1 import table_pb2 as _table_pb2
from onnxplain.v1 import table_description_pb2 as _table_description_pb2
from onnxplain.v1 import upload_pb2 as _upload_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExplainRequest(_message.Message):
    __slots__ = ("model", "table", "feature_columns", "target_column", "weight_column", "output_indices", "scale", "engine", "row_count", "seed", "methods", "plots", "allow_inconsistent_model", "class_labels", "prediction", "model_name", "outputs", "budget_seconds", "budget_predicted_row_count", "partial", "result_uri", "input_columns", "target_columns", "expected_prediction_columns", "cluster_column", "replicates", "reference")
    class Engine(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ENGINE_UNSPECIFIED: _ClassVar[ExplainRequest.Engine]
        TREES: _ClassVar[ExplainRequest.Engine]
        BLACK_BOX: _ClassVar[ExplainRequest.Engine]
        ADDITIVE: _ClassVar[ExplainRequest.Engine]
        SURROGATE: _ClassVar[ExplainRequest.Engine]
    ENGINE_UNSPECIFIED: ExplainRequest.Engine
    TREES: ExplainRequest.Engine
    BLACK_BOX: ExplainRequest.Engine
    ADDITIVE: ExplainRequest.Engine
    SURROGATE: ExplainRequest.Engine
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    FEATURE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMN_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_COLUMN_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_INDICES_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    METHODS_FIELD_NUMBER: _ClassVar[int]
    PLOTS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_INCONSISTENT_MODEL_FIELD_NUMBER: _ClassVar[int]
    CLASS_LABELS_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_SECONDS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_PREDICTED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    RESULT_URI_FIELD_NUMBER: _ClassVar[int]
    INPUT_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_PREDICTION_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_COLUMN_FIELD_NUMBER: _ClassVar[int]
    REPLICATES_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    model: _model_pb2.Model
    table: _table_pb2.Table
    feature_columns: _containers.RepeatedScalarFieldContainer[str]
    target_column: str
    weight_column: str
    output_indices: _containers.RepeatedScalarFieldContainer[int]
    scale: _model_pb2.ModelDescription.Scale
    engine: ExplainRequest.Engine
    row_count: int
    seed: int
    methods: _containers.RepeatedCompositeFieldContainer[MethodOptions]
    plots: bool
    allow_inconsistent_model: bool
    class_labels: _containers.RepeatedScalarFieldContainer[str]
    prediction: _containers.RepeatedScalarFieldContainer[str]
    model_name: str
    outputs: _containers.RepeatedScalarFieldContainer[str]
    budget_seconds: float
    budget_predicted_row_count: float
    partial: bool
    result_uri: str
    input_columns: _containers.RepeatedCompositeFieldContainer[InputColumns]
    target_columns: _containers.RepeatedScalarFieldContainer[str]
    expected_prediction_columns: _containers.RepeatedScalarFieldContainer[str]
    cluster_column: str
    replicates: bool
    reference: Reference
    def __init__(self, model: _Optional[_Union[_model_pb2.Model, _Mapping]] = ..., table: _Optional[_Union[_table_pb2.Table, _Mapping]] = ..., feature_columns: _Optional[_Iterable[str]] = ..., target_column: _Optional[str] = ..., weight_column: _Optional[str] = ..., output_indices: _Optional[_Iterable[int]] = ..., scale: _Optional[_Union[_model_pb2.ModelDescription.Scale, str]] = ..., engine: _Optional[_Union[ExplainRequest.Engine, str]] = ..., row_count: _Optional[int] = ..., seed: _Optional[int] = ..., methods: _Optional[_Iterable[_Union[MethodOptions, _Mapping]]] = ..., plots: bool = ..., allow_inconsistent_model: bool = ..., class_labels: _Optional[_Iterable[str]] = ..., prediction: _Optional[_Iterable[str]] = ..., model_name: _Optional[str] = ..., outputs: _Optional[_Iterable[str]] = ..., budget_seconds: _Optional[float] = ..., budget_predicted_row_count: _Optional[float] = ..., partial: bool = ..., result_uri: _Optional[str] = ..., input_columns: _Optional[_Iterable[_Union[InputColumns, _Mapping]]] = ..., target_columns: _Optional[_Iterable[str]] = ..., expected_prediction_columns: _Optional[_Iterable[str]] = ..., cluster_column: _Optional[str] = ..., replicates: bool = ..., reference: _Optional[_Union[Reference, _Mapping]] = ...) -> None: ...

class Reference(_message.Message):
    __slots__ = ("answer", "options", "rules")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    answer: ExplainResponse
    options: _explanation_comparison_pb2.ComparisonOptions
    rules: _containers.RepeatedCompositeFieldContainer[_explanation_comparison_pb2.ComparisonRule]
    def __init__(self, answer: _Optional[_Union[ExplainResponse, _Mapping]] = ..., options: _Optional[_Union[_explanation_comparison_pb2.ComparisonOptions, _Mapping]] = ..., rules: _Optional[_Iterable[_Union[_explanation_comparison_pb2.ComparisonRule, _Mapping]]] = ...) -> None: ...

class MethodOptions(_message.Message):
    __slots__ = ("interactions", "partial_dependence", "individual_conditional_expectation", "permutation_importance", "average_loss", "feature_vectors", "firm", "swarm", "attributions", "accumulated_local_effects")
    INTERACTIONS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_DEPENDENCE_FIELD_NUMBER: _ClassVar[int]
    INDIVIDUAL_CONDITIONAL_EXPECTATION_FIELD_NUMBER: _ClassVar[int]
    PERMUTATION_IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_LOSS_FIELD_NUMBER: _ClassVar[int]
    FEATURE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    FIRM_FIELD_NUMBER: _ClassVar[int]
    SWARM_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTIONS_FIELD_NUMBER: _ClassVar[int]
    ACCUMULATED_LOCAL_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    interactions: _interactions_pb2.InteractionsOptions
    partial_dependence: _partial_dependence_pb2.PartialDependenceOptions
    individual_conditional_expectation: _individual_conditional_expectation_pb2.IndividualConditionalExpectationOptions
    permutation_importance: _permutation_importance_pb2.PermutationImportanceOptions
    average_loss: _average_loss_pb2.AverageLossOptions
    feature_vectors: _feature_vectors_pb2.FeatureVectorsOptions
    firm: _firm_pb2.FirmOptions
    swarm: _swarm_pb2.SwarmOptions
    attributions: _attributions_pb2.AttributionsOptions
    accumulated_local_effects: _accumulated_local_effects_pb2.AccumulatedLocalEffectsOptions
    def __init__(self, interactions: _Optional[_Union[_interactions_pb2.InteractionsOptions, _Mapping]] = ..., partial_dependence: _Optional[_Union[_partial_dependence_pb2.PartialDependenceOptions, _Mapping]] = ..., individual_conditional_expectation: _Optional[_Union[_individual_conditional_expectation_pb2.IndividualConditionalExpectationOptions, _Mapping]] = ..., permutation_importance: _Optional[_Union[_permutation_importance_pb2.PermutationImportanceOptions, _Mapping]] = ..., average_loss: _Optional[_Union[_average_loss_pb2.AverageLossOptions, _Mapping]] = ..., feature_vectors: _Optional[_Union[_feature_vectors_pb2.FeatureVectorsOptions, _Mapping]] = ..., firm: _Optional[_Union[_firm_pb2.FirmOptions, _Mapping]] = ..., swarm: _Optional[_Union[_swarm_pb2.SwarmOptions, _Mapping]] = ..., attributions: _Optional[_Union[_attributions_pb2.AttributionsOptions, _Mapping]] = ..., accumulated_local_effects: _Optional[_Union[_accumulated_local_effects_pb2.AccumulatedLocalEffectsOptions, _Mapping]] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("explanations", "model", "receipt", "warnings", "summary", "key_figures", "comparison")
    EXPLANATIONS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIGURES_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    explanations: _containers.RepeatedCompositeFieldContainer[Explanation]
    model: _model_pb2.ModelDescription
    receipt: Receipt
    warnings: _containers.RepeatedCompositeFieldContainer[Warning]
    summary: _containers.RepeatedScalarFieldContainer[str]
    key_figures: _containers.RepeatedCompositeFieldContainer[KeyFigure]
    comparison: _explanation_comparison_pb2.ExplanationComparison
    def __init__(self, explanations: _Optional[_Iterable[_Union[Explanation, _Mapping]]] = ..., model: _Optional[_Union[_model_pb2.ModelDescription, _Mapping]] = ..., receipt: _Optional[_Union[Receipt, _Mapping]] = ..., warnings: _Optional[_Iterable[_Union[Warning, _Mapping]]] = ..., summary: _Optional[_Iterable[str]] = ..., key_figures: _Optional[_Iterable[_Union[KeyFigure, _Mapping]]] = ..., comparison: _Optional[_Union[_explanation_comparison_pb2.ExplanationComparison, _Mapping]] = ...) -> None: ...

class KeyFigure(_message.Message):
    __slots__ = ("name", "value", "unit", "comparison")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    unit: str
    comparison: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., unit: _Optional[str] = ..., comparison: _Optional[str] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("interactions", "partial_dependence", "individual_conditional_expectation", "permutation_importance", "average_loss", "feature_vectors", "firm", "swarm", "attributions", "accumulated_local_effects", "plots", "options", "rows", "class_pairings", "conclusions", "replicates")
    INTERACTIONS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_DEPENDENCE_FIELD_NUMBER: _ClassVar[int]
    INDIVIDUAL_CONDITIONAL_EXPECTATION_FIELD_NUMBER: _ClassVar[int]
    PERMUTATION_IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_LOSS_FIELD_NUMBER: _ClassVar[int]
    FEATURE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    FIRM_FIELD_NUMBER: _ClassVar[int]
    SWARM_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTIONS_FIELD_NUMBER: _ClassVar[int]
    ACCUMULATED_LOCAL_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    PLOTS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    CLASS_PAIRINGS_FIELD_NUMBER: _ClassVar[int]
    CONCLUSIONS_FIELD_NUMBER: _ClassVar[int]
    REPLICATES_FIELD_NUMBER: _ClassVar[int]
    interactions: _interactions_pb2.InteractionsResult
    partial_dependence: _partial_dependence_pb2.PartialDependenceResult
    individual_conditional_expectation: _individual_conditional_expectation_pb2.IndividualConditionalExpectationResult
    permutation_importance: _permutation_importance_pb2.PermutationImportanceResult
    average_loss: _average_loss_pb2.AverageLossResult
    feature_vectors: _feature_vectors_pb2.FeatureVectorsResult
    firm: _firm_pb2.FirmResult
    swarm: _swarm_pb2.SwarmResult
    attributions: _attributions_pb2.AttributionsResult
    accumulated_local_effects: _accumulated_local_effects_pb2.AccumulatedLocalEffectsResult
    plots: _containers.RepeatedCompositeFieldContainer[_plot_pb2.Plot]
    options: MethodOptions
    rows: RowsUsed
    class_pairings: _containers.RepeatedCompositeFieldContainer[ClassPairing]
    conclusions: _containers.RepeatedCompositeFieldContainer[Conclusion]
    replicates: _explanation_comparison_pb2.StatisticReplicates
    def __init__(self, interactions: _Optional[_Union[_interactions_pb2.InteractionsResult, _Mapping]] = ..., partial_dependence: _Optional[_Union[_partial_dependence_pb2.PartialDependenceResult, _Mapping]] = ..., individual_conditional_expectation: _Optional[_Union[_individual_conditional_expectation_pb2.IndividualConditionalExpectationResult, _Mapping]] = ..., permutation_importance: _Optional[_Union[_permutation_importance_pb2.PermutationImportanceResult, _Mapping]] = ..., average_loss: _Optional[_Union[_average_loss_pb2.AverageLossResult, _Mapping]] = ..., feature_vectors: _Optional[_Union[_feature_vectors_pb2.FeatureVectorsResult, _Mapping]] = ..., firm: _Optional[_Union[_firm_pb2.FirmResult, _Mapping]] = ..., swarm: _Optional[_Union[_swarm_pb2.SwarmResult, _Mapping]] = ..., attributions: _Optional[_Union[_attributions_pb2.AttributionsResult, _Mapping]] = ..., accumulated_local_effects: _Optional[_Union[_accumulated_local_effects_pb2.AccumulatedLocalEffectsResult, _Mapping]] = ..., plots: _Optional[_Iterable[_Union[_plot_pb2.Plot, _Mapping]]] = ..., options: _Optional[_Union[MethodOptions, _Mapping]] = ..., rows: _Optional[_Union[RowsUsed, _Mapping]] = ..., class_pairings: _Optional[_Iterable[_Union[ClassPairing, _Mapping]]] = ..., conclusions: _Optional[_Iterable[_Union[Conclusion, _Mapping]]] = ..., replicates: _Optional[_Union[_explanation_comparison_pb2.StatisticReplicates, _Mapping]] = ...) -> None: ...

class Conclusion(_message.Message):
    __slots__ = ("kind", "features", "output_name", "group", "rank", "rank_lower", "rank_upper", "sign", "replicate_share", "is_stable")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Conclusion.Kind]
        RANK: _ClassVar[Conclusion.Kind]
        STRONGEST_PAIR: _ClassVar[Conclusion.Kind]
        SLOPE: _ClassVar[Conclusion.Kind]
    KIND_UNSPECIFIED: Conclusion.Kind
    RANK: Conclusion.Kind
    STRONGEST_PAIR: Conclusion.Kind
    SLOPE: Conclusion.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    RANK_LOWER_FIELD_NUMBER: _ClassVar[int]
    RANK_UPPER_FIELD_NUMBER: _ClassVar[int]
    SIGN_FIELD_NUMBER: _ClassVar[int]
    REPLICATE_SHARE_FIELD_NUMBER: _ClassVar[int]
    IS_STABLE_FIELD_NUMBER: _ClassVar[int]
    kind: Conclusion.Kind
    features: _containers.RepeatedScalarFieldContainer[str]
    output_name: str
    group: str
    rank: int
    rank_lower: int
    rank_upper: int
    sign: int
    replicate_share: float
    is_stable: bool
    def __init__(self, kind: _Optional[_Union[Conclusion.Kind, str]] = ..., features: _Optional[_Iterable[str]] = ..., output_name: _Optional[str] = ..., group: _Optional[str] = ..., rank: _Optional[int] = ..., rank_lower: _Optional[int] = ..., rank_upper: _Optional[int] = ..., sign: _Optional[int] = ..., replicate_share: _Optional[float] = ..., is_stable: bool = ...) -> None: ...

class ClassPairing(_message.Message):
    __slots__ = ("label", "output_name")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    label: str
    output_name: str
    def __init__(self, label: _Optional[str] = ..., output_name: _Optional[str] = ...) -> None: ...

class RowsUsed(_message.Message):
    __slots__ = ("drawn_row_count", "used_row_count", "weight", "seed", "cluster_count")
    DRAWN_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    USED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    drawn_row_count: int
    used_row_count: int
    weight: float
    seed: int
    cluster_count: int
    def __init__(self, drawn_row_count: _Optional[int] = ..., used_row_count: _Optional[int] = ..., weight: _Optional[float] = ..., seed: _Optional[int] = ..., cluster_count: _Optional[int] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("model_digest", "table_digest", "seed", "row_count", "predicted_row_count", "cache_hit_count", "cache_miss_count", "engine", "engine_reason", "server_version", "library_versions", "elapsed", "prediction", "overview_methods", "model_name", "size_dependent_operators", "sources", "remote_model", "scale", "prediction_comparison", "cluster_column", "request", "processor")
    class LibraryVersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    TABLE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    CACHE_HIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CACHE_MISS_COUNT_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    ENGINE_REASON_FIELD_NUMBER: _ClassVar[int]
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    LIBRARY_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    OVERVIEW_METHODS_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_DEPENDENT_OPERATORS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    REMOTE_MODEL_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_COMPARISON_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_COLUMN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    PROCESSOR_FIELD_NUMBER: _ClassVar[int]
    model_digest: str
    table_digest: str
    seed: int
    row_count: int
    predicted_row_count: float
    cache_hit_count: int
    cache_miss_count: int
    engine: ExplainRequest.Engine
    engine_reason: str
    server_version: str
    library_versions: _containers.ScalarMap[str, str]
    elapsed: _duration_pb2.Duration
    prediction: _containers.RepeatedScalarFieldContainer[str]
    overview_methods: _containers.RepeatedCompositeFieldContainer[OverviewMethod]
    model_name: str
    size_dependent_operators: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    remote_model: RemoteModelReceipt
    scale: _model_pb2.ModelDescription.Scale
    prediction_comparison: _prediction_comparison_pb2.PredictionComparison
    cluster_column: str
    request: ExplainRequest
    processor: str
    def __init__(self, model_digest: _Optional[str] = ..., table_digest: _Optional[str] = ..., seed: _Optional[int] = ..., row_count: _Optional[int] = ..., predicted_row_count: _Optional[float] = ..., cache_hit_count: _Optional[int] = ..., cache_miss_count: _Optional[int] = ..., engine: _Optional[_Union[ExplainRequest.Engine, str]] = ..., engine_reason: _Optional[str] = ..., server_version: _Optional[str] = ..., library_versions: _Optional[_Mapping[str, str]] = ..., elapsed: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., prediction: _Optional[_Iterable[str]] = ..., overview_methods: _Optional[_Iterable[_Union[OverviewMethod, _Mapping]]] = ..., model_name: _Optional[str] = ..., size_dependent_operators: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., remote_model: _Optional[_Union[RemoteModelReceipt, _Mapping]] = ..., scale: _Optional[_Union[_model_pb2.ModelDescription.Scale, str]] = ..., prediction_comparison: _Optional[_Union[_prediction_comparison_pb2.PredictionComparison, _Mapping]] = ..., cluster_column: _Optional[str] = ..., request: _Optional[_Union[ExplainRequest, _Mapping]] = ..., processor: _Optional[str] = ...) -> None: ...

class RemoteModelReceipt(_message.Message):
    __slots__ = ("uri", "protocol", "name", "version", "identity", "probe_digest", "platform")
    URI_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    PROBE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    uri: str
    protocol: _model_pb2.RemoteModel.Protocol
    name: str
    version: str
    identity: str
    probe_digest: str
    platform: str
    def __init__(self, uri: _Optional[str] = ..., protocol: _Optional[_Union[_model_pb2.RemoteModel.Protocol, str]] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., identity: _Optional[str] = ..., probe_digest: _Optional[str] = ..., platform: _Optional[str] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("uri", "version", "digest", "read_byte_count", "resolved_uri")
    URI_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    READ_BYTE_COUNT_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_URI_FIELD_NUMBER: _ClassVar[int]
    uri: str
    version: str
    digest: str
    read_byte_count: float
    resolved_uri: str
    def __init__(self, uri: _Optional[str] = ..., version: _Optional[str] = ..., digest: _Optional[str] = ..., read_byte_count: _Optional[float] = ..., resolved_uri: _Optional[str] = ...) -> None: ...

class OverviewMethod(_message.Message):
    __slots__ = ("name", "row_count")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    row_count: int
    def __init__(self, name: _Optional[str] = ..., row_count: _Optional[int] = ...) -> None: ...

class Warning(_message.Message):
    __slots__ = ("code", "message", "kind", "suggested_groups")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Warning.Kind]
        DOUBT: _ClassVar[Warning.Kind]
        HOW_IT_WAS_MADE: _ClassVar[Warning.Kind]
        SENTENCE: _ClassVar[Warning.Kind]
    KIND_UNSPECIFIED: Warning.Kind
    DOUBT: Warning.Kind
    HOW_IT_WAS_MADE: Warning.Kind
    SENTENCE: Warning.Kind
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_GROUPS_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    kind: Warning.Kind
    suggested_groups: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., kind: _Optional[_Union[Warning.Kind, str]] = ..., suggested_groups: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ...) -> None: ...

class ExplainStreamRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: ExplainRequest
    def __init__(self, request: _Optional[_Union[ExplainRequest, _Mapping]] = ...) -> None: ...

class ExplainStreamResponse(_message.Message):
    __slots__ = ("progress", "response", "partial")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    response: ExplainResponse
    partial: PartialExplanation
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., response: _Optional[_Union[ExplainResponse, _Mapping]] = ..., partial: _Optional[_Union[PartialExplanation, _Mapping]] = ...) -> None: ...

class PartialExplanation(_message.Message):
    __slots__ = ("index", "explanation", "is_final", "warnings")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    IS_FINAL_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    index: int
    explanation: Explanation
    is_final: bool
    warnings: _containers.RepeatedCompositeFieldContainer[Warning]
    def __init__(self, index: _Optional[int] = ..., explanation: _Optional[_Union[Explanation, _Mapping]] = ..., is_final: bool = ..., warnings: _Optional[_Iterable[_Union[Warning, _Mapping]]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("done", "planned")
    DONE_FIELD_NUMBER: _ClassVar[int]
    PLANNED_FIELD_NUMBER: _ClassVar[int]
    done: float
    planned: float
    def __init__(self, done: _Optional[float] = ..., planned: _Optional[float] = ...) -> None: ...

class StartExplanationRequest(_message.Message):
    __slots__ = ("request", "request_id", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    request: ExplainRequest
    request_id: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, request: _Optional[_Union[ExplainRequest, _Mapping]] = ..., request_id: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ReadExplanationRequest(_message.Message):
    __slots__ = ("name", "offset")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    name: str
    offset: float
    def __init__(self, name: _Optional[str] = ..., offset: _Optional[float] = ...) -> None: ...

class ReadExplanationResponse(_message.Message):
    __slots__ = ("content",)
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    def __init__(self, content: _Optional[bytes] = ...) -> None: ...

class ReadPartialExplanationsRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DescribeModelRequest(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: _model_pb2.Model
    def __init__(self, model: _Optional[_Union[_model_pb2.Model, _Mapping]] = ...) -> None: ...

class DescribeModelResponse(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: _model_pb2.ModelDescription
    def __init__(self, model: _Optional[_Union[_model_pb2.ModelDescription, _Mapping]] = ...) -> None: ...

class InputColumns(_message.Message):
    __slots__ = ("input", "columns")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    input: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, input: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeTableRequest(_message.Message):
    __slots__ = ("model", "table", "feature_columns", "target_column", "weight_column", "row_count", "row_indices", "near", "input_columns", "target_columns")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    FEATURE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMN_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_COLUMN_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    INPUT_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    model: _model_pb2.Model
    table: _table_pb2.Table
    feature_columns: _containers.RepeatedScalarFieldContainer[str]
    target_column: str
    weight_column: str
    row_count: int
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    near: _table_pb2.Columns
    input_columns: _containers.RepeatedCompositeFieldContainer[InputColumns]
    target_columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, model: _Optional[_Union[_model_pb2.Model, _Mapping]] = ..., table: _Optional[_Union[_table_pb2.Table, _Mapping]] = ..., feature_columns: _Optional[_Iterable[str]] = ..., target_column: _Optional[str] = ..., weight_column: _Optional[str] = ..., row_count: _Optional[int] = ..., row_indices: _Optional[_Iterable[int]] = ..., near: _Optional[_Union[_table_pb2.Columns, _Mapping]] = ..., input_columns: _Optional[_Iterable[_Union[InputColumns, _Mapping]]] = ..., target_columns: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeTableResponse(_message.Message):
    __slots__ = ("table", "warnings")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    table: _table_description_pb2.TableDescription
    warnings: _containers.RepeatedCompositeFieldContainer[Warning]
    def __init__(self, table: _Optional[_Union[_table_description_pb2.TableDescription, _Mapping]] = ..., warnings: _Optional[_Iterable[_Union[Warning, _Mapping]]] = ...) -> None: ...

class PredictRequest(_message.Message):
    __slots__ = ("model", "table", "feature_columns", "target_column", "weight_column", "output_indices", "scale", "row_indices", "allow_inconsistent_model", "prediction", "outputs", "input_columns", "target_columns")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    FEATURE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMN_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_COLUMN_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_INDICES_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    ALLOW_INCONSISTENT_MODEL_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    INPUT_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    model: _model_pb2.Model
    table: _table_pb2.Table
    feature_columns: _containers.RepeatedScalarFieldContainer[str]
    target_column: str
    weight_column: str
    output_indices: _containers.RepeatedScalarFieldContainer[int]
    scale: _model_pb2.ModelDescription.Scale
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    allow_inconsistent_model: bool
    prediction: _containers.RepeatedScalarFieldContainer[str]
    outputs: _containers.RepeatedScalarFieldContainer[str]
    input_columns: _containers.RepeatedCompositeFieldContainer[InputColumns]
    target_columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, model: _Optional[_Union[_model_pb2.Model, _Mapping]] = ..., table: _Optional[_Union[_table_pb2.Table, _Mapping]] = ..., feature_columns: _Optional[_Iterable[str]] = ..., target_column: _Optional[str] = ..., weight_column: _Optional[str] = ..., output_indices: _Optional[_Iterable[int]] = ..., scale: _Optional[_Union[_model_pb2.ModelDescription.Scale, str]] = ..., row_indices: _Optional[_Iterable[int]] = ..., allow_inconsistent_model: bool = ..., prediction: _Optional[_Iterable[str]] = ..., outputs: _Optional[_Iterable[str]] = ..., input_columns: _Optional[_Iterable[_Union[InputColumns, _Mapping]]] = ..., target_columns: _Optional[_Iterable[str]] = ...) -> None: ...

class PredictResponse(_message.Message):
    __slots__ = ("output_names", "row_indices", "values", "warnings")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    ROW_INDICES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    row_indices: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    warnings: _containers.RepeatedCompositeFieldContainer[Warning]
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., row_indices: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., warnings: _Optional[_Iterable[_Union[Warning, _Mapping]]] = ...) -> None: ...

class CheckModelRequest(_message.Message):
    __slots__ = ("model", "table", "feature_columns", "target_column", "weight_column", "output_indices", "scale", "allow_inconsistent_model", "prediction", "outputs", "input_columns", "expected_prediction_columns")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    FEATURE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TARGET_COLUMN_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_COLUMN_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_INDICES_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    ALLOW_INCONSISTENT_MODEL_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    INPUT_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_PREDICTION_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    model: _model_pb2.Model
    table: _table_pb2.Table
    feature_columns: _containers.RepeatedScalarFieldContainer[str]
    target_column: str
    weight_column: str
    output_indices: _containers.RepeatedScalarFieldContainer[int]
    scale: _model_pb2.ModelDescription.Scale
    allow_inconsistent_model: bool
    prediction: _containers.RepeatedScalarFieldContainer[str]
    outputs: _containers.RepeatedScalarFieldContainer[str]
    input_columns: _containers.RepeatedCompositeFieldContainer[InputColumns]
    expected_prediction_columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, model: _Optional[_Union[_model_pb2.Model, _Mapping]] = ..., table: _Optional[_Union[_table_pb2.Table, _Mapping]] = ..., feature_columns: _Optional[_Iterable[str]] = ..., target_column: _Optional[str] = ..., weight_column: _Optional[str] = ..., output_indices: _Optional[_Iterable[int]] = ..., scale: _Optional[_Union[_model_pb2.ModelDescription.Scale, str]] = ..., allow_inconsistent_model: bool = ..., prediction: _Optional[_Iterable[str]] = ..., outputs: _Optional[_Iterable[str]] = ..., input_columns: _Optional[_Iterable[_Union[InputColumns, _Mapping]]] = ..., expected_prediction_columns: _Optional[_Iterable[str]] = ...) -> None: ...

class CheckModelResponse(_message.Message):
    __slots__ = ("comparison", "warnings")
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    comparison: _prediction_comparison_pb2.PredictionComparison
    warnings: _containers.RepeatedCompositeFieldContainer[Warning]
    def __init__(self, comparison: _Optional[_Union[_prediction_comparison_pb2.PredictionComparison, _Mapping]] = ..., warnings: _Optional[_Iterable[_Union[Warning, _Mapping]]] = ...) -> None: ...

class CompareExplanationsRequest(_message.Message):
    __slots__ = ("reference", "answer", "plots")
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    PLOTS_FIELD_NUMBER: _ClassVar[int]
    reference: Reference
    answer: ExplainResponse
    plots: bool
    def __init__(self, reference: _Optional[_Union[Reference, _Mapping]] = ..., answer: _Optional[_Union[ExplainResponse, _Mapping]] = ..., plots: bool = ...) -> None: ...

class CompareExplanationsResponse(_message.Message):
    __slots__ = ("comparison",)
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    comparison: _explanation_comparison_pb2.ExplanationComparison
    def __init__(self, comparison: _Optional[_Union[_explanation_comparison_pb2.ExplanationComparison, _Mapping]] = ...) -> None: ...
