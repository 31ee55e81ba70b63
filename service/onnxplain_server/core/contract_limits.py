"""Generated from proto/ by `make proto`: limits, defaults, enumerations of requests."""

from __future__ import annotations

from enum import Enum

from onnxplain_server.core.limits import Limits


class AccumulatedLocalEffectsOptions:
    """Limits and enumerations of `AccumulatedLocalEffectsOptions`."""

    default_rows = 10_000
    bin_count = Limits(default=20, min=2, max=1_000)
    group_count = Limits(default=4, min=1, max=100)
    repeat_count = Limits(default=0, min=10, max=10_000, zero_is_off=True)
    confidence_level = Limits(default=0.95, min=0.5, max=0.999)


class AttributionsOptions:
    """Limits and enumerations of `AttributionsOptions`."""

    class Perturbation(Enum):
        """`AttributionsOptions.Perturbation`."""

        INTERVENTIONAL = "INTERVENTIONAL"
        PATH_DEPENDENT = "PATH_DEPENDENT"

    class Value(Enum):
        """`AttributionsOptions.Value`."""

        SHAPLEY = "SHAPLEY"
        BANZHAF = "BANZHAF"

    default_rows = 500
    row_indices = Limits(default=None, min=0, max_items=10_000)
    explained_row_count = Limits(default=100, min=1, max=1_000_000)
    background_row_indices = Limits(default=None, min=0, max_items=10_000)
    perturbation = Limits(default=Perturbation.INTERVENTIONAL)
    value = Limits(default=Value.SHAPLEY)
    order = Limits(default=1, min=1, max=2)
    permutation_count = Limits(default=250, min=2, max=100_000)
    target_standard_error = Limits(default=0.0, min=0.0)


class AverageLossOptions:
    """Limits and enumerations of `AverageLossOptions`."""

    class Loss(Enum):
        """`AverageLossOptions.Loss`."""

        SQUARED_ERROR = "SQUARED_ERROR"
        ABSOLUTE_ERROR = "ABSOLUTE_ERROR"
        POISSON = "POISSON"
        GAMMA = "GAMMA"
        LOGLOSS = "LOGLOSS"
        MLOGLOSS = "MLOGLOSS"
        PINBALL = "PINBALL"
        MAPE = "MAPE"
        ACCURACY = "ACCURACY"
        BALANCED_ACCURACY = "BALANCED_ACCURACY"
        F1 = "F1"
        AUC = "AUC"
        NDCG = "NDCG"
        PAIRWISE_ACCURACY = "PAIRWISE_ACCURACY"

    default_rows = None
    sum_outputs = Limits(default=False)
    group_count = Limits(default=4, min=1, max=100)
    quantile = Limits(default=None, min=0.0, max=1.0, exclusive_min=True, exclusive_max=True)
    threshold = Limits(default=None, min=-1_000_000_000.0, max=1_000_000_000.0)
    probability_floor = Limits(default=None, min=0.0, max=0.1)
    rank_count = Limits(default=None, min=1, max=1_000_000)
    repeat_count = Limits(default=0, min=10, max=10_000, zero_is_off=True)
    confidence_level = Limits(default=0.95, min=0.5, max=0.999)


class ModelDescription:
    """Limits and enumerations of `ModelDescription`."""

    class Scale(Enum):
        """`ModelDescription.Scale`."""

        RESPONSE = "RESPONSE"
        MARGIN = "MARGIN"


class CompareExplanationsRequest:
    """Limits and enumerations of `CompareExplanationsRequest`."""

    plots = Limits(default=True)


class ComparisonOptions:
    """Limits and enumerations of `ComparisonOptions`."""

    class Correction(Enum):
        """`ComparisonOptions.Correction`."""

        HOLM = "HOLM"
        BENJAMINI_HOCHBERG = "BENJAMINI_HOCHBERG"
        NONE = "NONE"

    confidence_level = Limits(default=0.95, min=0.5, max=0.999)
    correction = Limits(default=Correction.HOLM)
    leading_count = Limits(default=5, min=1, max=100)


class ComparisonRule:
    """Limits and enumerations of `ComparisonRule`."""

    max_change = Limits(default=None, min=0.0)
    level = Limits(default=0.95, min=0.5, max=0.999)


class DescribeTableRequest:
    """Limits and enumerations of `DescribeTableRequest`."""

    row_count = Limits(default=10, min=0, max=1_000)
    row_indices = Limits(default=None, min=0, max_items=1_000)


class ExplainRequest:
    """Limits and enumerations of `ExplainRequest`."""

    class Engine(Enum):
        """`ExplainRequest.Engine`."""

        TREES = "TREES"
        BLACK_BOX = "BLACK_BOX"
        ADDITIVE = "ADDITIVE"
        SURROGATE = "SURROGATE"

    output_indices = Limits(default=None, min=0)
    row_count = Limits(default=None, min=2)
    seed = Limits(default=0, min=0)
    plots = Limits(default=True)
    allow_inconsistent_model = Limits(default=False)
    prediction = Limits(default=None, max_items=100)
    model_name = Limits(default=None, max_items=255)
    budget_seconds = Limits(default=60.0, min=1.0, max=86_400.0)
    budget_predicted_row_count = Limits(default=None, min=1.0, max=1_000_000_000_000_000.0)
    partial = Limits(default=False)
    result_uri = Limits(default=None, max_items=2_048)
    replicates = Limits(default=False)


class FeatureVectorsOptions:
    """Limits and enumerations of `FeatureVectorsOptions`."""

    class Source(Enum):
        """`FeatureVectorsOptions.Source`."""

        MODEL = "MODEL"
        SURROGATE = "SURROGATE"
        LABELS = "LABELS"

    class Counting(Enum):
        """`FeatureVectorsOptions.Counting`."""

        PER_WINDOW = "PER_WINDOW"
        PER_PATH = "PER_PATH"

    default_rows = 10_000
    features = Limits(default=None, min_items=2)
    window = Limits(default=3, min=2, max=64)
    counting = Limits(default=Counting.PER_WINDOW)
    fill_diagonal = Limits(default=False)
    min_split_count = Limits(default=0, min=0, max=1_000)
    sentence_count = Limits(default=100_000, min=100, max=10_000_000)
    depth = Limits(default=None, min=1, max=64)
    dimension_count = Limits(default=2, min=2, max=100)
    row_indices = Limits(default=None, min=0, max_items=10_000)
    repeat_count = Limits(default=0, min=2, max=1_000, zero_is_off=True)
    importance_floor = Limits(default=0.05, min=0.0, max=1.0)
    group_angle_degrees = Limits(default=10.0, min=0.0, max=180.0)
    neighbor_count = Limits(default=3, min=0, max=100)
    include_cooccurrence = Limits(default=False)
    include_similarity = Limits(default=False)


class FirmBackground:
    """Limits and enumerations of `FirmBackground`."""

    order = Limits(default=None, min=0, max=8)
    initial = Limits(default=None, min=0.0, max=1.0)
    transitions = Limits(default=None, min=0.0, max=1.0)
    pseudo_count = Limits(default=1.0, min=1e-09, max=1_000_000_000.0)


class FirmKmerWeights:
    """Limits and enumerations of `FirmKmerWeights`."""

    positions = Limits(default=None, min=0)
    constant = Limits(default=0.0)


class FirmOptions:
    """Limits and enumerations of `FirmOptions`."""

    class Estimator(Enum):
        """`FirmOptions.Estimator`."""

        GAUSSIAN = "GAUSSIAN"
        TAYLOR = "TAYLOR"
        TWO_VALUED = "TWO_VALUED"
        SLOPE = "SLOPE"
        BINNED = "BINNED"
        SMOOTH = "SMOOTH"

    class Source(Enum):
        """`FirmOptions.Source`."""

        MODEL = "MODEL"
        LABELS = "LABELS"
        BOTH = "BOTH"

    class Covariance(Enum):
        """`FirmOptions.Covariance`."""

        EMPIRICAL = "EMPIRICAL"
        SHRUNK = "SHRUNK"
        LEDOIT_WOLF = "LEDOIT_WOLF"

    class Contrast(Enum):
        """`FirmOptions.Contrast`."""

        PARTIAL_DEPENDENCE = "PARTIAL_DEPENDENCE"
        SENSITIVITY = "SENSITIVITY"
        WEIGHT = "WEIGHT"

    default_rows = None
    features = Limits(default=None, max_items=50_000)
    covariance = Limits(default=Covariance.EMPIRICAL)
    bin_count = Limits(default=20, min=2, max=1_000)
    keep_bias = Limits(default=False)
    standardize = Limits(default=False)
    repeat_count = Limits(default=0, min=10, max=10_000, zero_is_off=True)
    confidence_level = Limits(default=0.95, min=0.5, max=0.999)


class FirmPairs:
    """Limits and enumerations of `FirmPairs`."""

    class Combination(Enum):
        """`FirmPairs.Combination`."""

        CONJUNCTION = "CONJUNCTION"
        DISJUNCTION = "DISJUNCTION"
        EXCLUSIVE_OR = "EXCLUSIVE_OR"
        PRODUCT = "PRODUCT"

    features = Limits(default=None, min_items=2)
    combination = Limits(default=Combination.CONJUNCTION)
    include_negations = Limits(default=False)


class FirmSequences:
    """Limits and enumerations of `FirmSequences`."""

    class Layout(Enum):
        """`FirmSequences.Layout`."""

        POSITION_MAJOR = "POSITION_MAJOR"
        LETTER_MAJOR = "LETTER_MAJOR"

    alphabet = Limits(default="ACGT", min_items=2, max_items=64)
    length = Limits(default=None, min=1, max=10_000)
    max_length = Limits(default=3, min=1, max=10)
    top_count = Limits(default=20, min=0, max=10_000)
    layout = Limits(default=Layout.POSITION_MAJOR)
    sample_count = Limits(default=20_000, min=1_000, max=10_000_000)


class PartialDependenceOptions:
    """Limits and enumerations of `PartialDependenceOptions`."""

    class Strategy(Enum):
        """`PartialDependenceOptions.Strategy`."""

        UNIFORM = "UNIFORM"
        QUANTILE = "QUANTILE"
        STEPS = "STEPS"

    default_rows = 500
    grid_size = Limits(default=49, min=2, max=10_000)
    strategy = Limits(default=Strategy.UNIFORM)
    trim_lower = Limits(default=0.01, min=0.0, max=1.0, exclusive_max=True)
    trim_upper = Limits(default=0.99, min=0.0, max=1.0, exclusive_min=True)
    group_count = Limits(default=4, min=1, max=100)
    include_missing = Limits(default=False)
    max_outside_share = Limits(default=1.0, min=0.0, max=1.0)
    repeat_count = Limits(default=0, min=10, max=10_000, zero_is_off=True)
    confidence_level = Limits(default=0.95, min=0.5, max=0.999)


class InteractionsOptions:
    """Limits and enumerations of `InteractionsOptions`."""

    class Resampling(Enum):
        """`InteractionsOptions.Resampling`."""

        BOOTSTRAP = "BOOTSTRAP"
        JACKKNIFE = "JACKKNIFE"

    default_rows = 500
    features = Limits(default=None, min_items=2)
    pairwise_feature_count = Limits(default=None, min=0, max=100)
    threeway_feature_count = Limits(default=0, min=0, max=50)
    quantile_bin_count = Limits(default=0, min=2, max=10_000, zero_is_off=True)
    absolute_threshold = Limits(default=None, min=0.0)
    repeat_count = Limits(default=0, min=10, max=10_000, zero_is_off=True)
    resampling = Limits(default=Resampling.BOOTSTRAP)
    confidence_level = Limits(default=0.95, min=0.5, max=0.999)
    permutation_count = Limits(default=0, min=0, max=100_000)
    knot_count = Limits(default=0, min=3, max=10_000, zero_is_off=True)
    target_error = Limits(default=None, min=0.0, max=1.0, exclusive_min=True)


class KnockoffOptions:
    """Limits and enumerations of `KnockoffOptions`."""

    permutation_count = Limits(default=10_000, min=100, max=1_000_000)
    component_count = Limits(default=None, min=1, max=20)


class Model:
    """Limits and enumerations of `Model`."""

    files = Limits(default=None, max_items=1_000)


class PermutationImportanceOptions:
    """Limits and enumerations of `PermutationImportanceOptions`."""

    default_rows = 10_000
    sum_outputs = Limits(default=False)
    repeat_count = Limits(default=4, min=1, max=1_000)
    normalize = Limits(default=False)
    quantile = Limits(default=None, min=0.0, max=1.0, exclusive_min=True, exclusive_max=True)
    threshold = Limits(default=None, min=-1_000_000_000.0, max=1_000_000_000.0)
    probability_floor = Limits(default=None, min=0.0, max=0.1)
    rank_count = Limits(default=None, min=1, max=1_000_000)


class ReadExplanationRequest:
    """Limits and enumerations of `ReadExplanationRequest`."""

    offset = Limits(default=0.0, min=0.0)


class Reference:
    """Limits and enumerations of `Reference`."""

    rules = Limits(default=None, max_items=1_000)


class StartExplanationRequest:
    """Limits and enumerations of `StartExplanationRequest`."""

    request_id = Limits(default=None, max_items=128)
    labels = Limits(default=None, max_items=64)


class SwarmOptions:
    """Limits and enumerations of `SwarmOptions`."""

    class Search(Enum):
        """`SwarmOptions.Search`."""

        EXACT = "EXACT"
        PUBLISHED = "PUBLISHED"
        DIFFERENTIAL_EVOLUTION = "DIFFERENTIAL_EVOLUTION"

    class Score(Enum):
        """`SwarmOptions.Score`."""

        ACCURACY = "ACCURACY"
        F1 = "F1"
        BALANCED_ACCURACY = "BALANCED_ACCURACY"

    class Perturbation(Enum):
        """`SwarmOptions.Perturbation`."""

        MULTIPLICATION = "MULTIPLICATION"
        GAUSSIAN = "GAUSSIAN"

    class Start(Enum):
        """`SwarmOptions.Start`."""

        UNPERTURBED = "UNPERTURBED"
        UNIFORM = "UNIFORM"

    default_rows = 2_000
    particle_count = Limits(default=10, min=2, max=200)
    iteration_count = Limits(default=60, min=1, max=10_000)
    restart_count = Limits(default=1, min=1, max=1_000)
    weight_limit = Limits(default=10.0, min=1e-09, max=1_000.0)
    velocity_limit = Limits(default=1.0, min=1e-09, max=1_000_000_000.0)
    start = Limits(default=Start.UNPERTURBED)
    perturbation = Limits(default=Perturbation.MULTIPLICATION)
    zero_offset = Limits(default=1.0, min=-1_000_000_000.0, max=1_000_000_000.0)
    row_indices = Limits(default=None, min=0, max_items=1_000)
    window_count = Limits(default=40, min=1, max=1_000)
    sliver_width = Limits(default=0.01, min=0.0, max=1_000.0)
    point_count = Limits(default=1_000, min=10, max=100_000)
    quantile = Limits(default=None, min=0.0, max=1.0, exclusive_min=True, exclusive_max=True)


class TableUris:
    """Limits and enumerations of `TableUris`."""

    uris = Limits(default=None, max_items=2_048)


class CheckModelRequest:
    """Limits and enumerations of `CheckModelRequest`."""

    output_indices = Limits(default=None, min=0)
    scale = Limits(default=ModelDescription.Scale.RESPONSE)
    allow_inconsistent_model = Limits(default=False)
    prediction = Limits(default=None, max_items=100)


class PredictRequest:
    """Limits and enumerations of `PredictRequest`."""

    output_indices = Limits(default=None, min=0)
    scale = Limits(default=ModelDescription.Scale.RESPONSE)
    row_indices = Limits(default=None, min=0, max_items=10_000)
    allow_inconsistent_model = Limits(default=False)
    prediction = Limits(default=None, max_items=100)


class IndividualConditionalExpectationOptions:
    """Limits and enumerations of `IndividualConditionalExpectationOptions`."""

    default_rows = 500
    grid_size = Limits(default=49, min=2, max=10_000)
    strategy = Limits(default=PartialDependenceOptions.Strategy.UNIFORM)
    trim_lower = Limits(default=0.01, min=0.0, max=1.0, exclusive_max=True)
    trim_upper = Limits(default=0.99, min=0.0, max=1.0, exclusive_min=True)
    include_missing = Limits(default=False)
    curve_count = Limits(default=100, min=1, max=10_000)
    group_columns = Limits(default=None, max_items=2)
    group_count = Limits(default=4, min=1, max=100)
    centered = Limits(default=False)
    row_indices = Limits(default=None, min=0, max_items=1_000)
