from onnxplain.v1 import partial_dependence_pb2 as _partial_dependence_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FirmOptions(_message.Message):
    __slots__ = ("features", "pairs", "estimator", "source", "covariance", "bin_count", "keep_bias", "standardize", "contrasts", "one_hot_target", "repeat_count", "confidence_level", "sequences", "groups")
    class Estimator(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ESTIMATOR_UNSPECIFIED: _ClassVar[FirmOptions.Estimator]
        GAUSSIAN: _ClassVar[FirmOptions.Estimator]
        TAYLOR: _ClassVar[FirmOptions.Estimator]
        TWO_VALUED: _ClassVar[FirmOptions.Estimator]
        SLOPE: _ClassVar[FirmOptions.Estimator]
        BINNED: _ClassVar[FirmOptions.Estimator]
        SMOOTH: _ClassVar[FirmOptions.Estimator]
    ESTIMATOR_UNSPECIFIED: FirmOptions.Estimator
    GAUSSIAN: FirmOptions.Estimator
    TAYLOR: FirmOptions.Estimator
    TWO_VALUED: FirmOptions.Estimator
    SLOPE: FirmOptions.Estimator
    BINNED: FirmOptions.Estimator
    SMOOTH: FirmOptions.Estimator
    class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SOURCE_UNSPECIFIED: _ClassVar[FirmOptions.Source]
        MODEL: _ClassVar[FirmOptions.Source]
        LABELS: _ClassVar[FirmOptions.Source]
        BOTH: _ClassVar[FirmOptions.Source]
    SOURCE_UNSPECIFIED: FirmOptions.Source
    MODEL: FirmOptions.Source
    LABELS: FirmOptions.Source
    BOTH: FirmOptions.Source
    class Covariance(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        COVARIANCE_UNSPECIFIED: _ClassVar[FirmOptions.Covariance]
        EMPIRICAL: _ClassVar[FirmOptions.Covariance]
        SHRUNK: _ClassVar[FirmOptions.Covariance]
        LEDOIT_WOLF: _ClassVar[FirmOptions.Covariance]
    COVARIANCE_UNSPECIFIED: FirmOptions.Covariance
    EMPIRICAL: FirmOptions.Covariance
    SHRUNK: FirmOptions.Covariance
    LEDOIT_WOLF: FirmOptions.Covariance
    class Contrast(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CONTRAST_UNSPECIFIED: _ClassVar[FirmOptions.Contrast]
        PARTIAL_DEPENDENCE: _ClassVar[FirmOptions.Contrast]
        SENSITIVITY: _ClassVar[FirmOptions.Contrast]
        WEIGHT: _ClassVar[FirmOptions.Contrast]
    CONTRAST_UNSPECIFIED: FirmOptions.Contrast
    PARTIAL_DEPENDENCE: FirmOptions.Contrast
    SENSITIVITY: FirmOptions.Contrast
    WEIGHT: FirmOptions.Contrast
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATOR_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    COVARIANCE_FIELD_NUMBER: _ClassVar[int]
    BIN_COUNT_FIELD_NUMBER: _ClassVar[int]
    KEEP_BIAS_FIELD_NUMBER: _ClassVar[int]
    STANDARDIZE_FIELD_NUMBER: _ClassVar[int]
    CONTRASTS_FIELD_NUMBER: _ClassVar[int]
    ONE_HOT_TARGET_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    pairs: _containers.RepeatedCompositeFieldContainer[FirmPairs]
    estimator: FirmOptions.Estimator
    source: FirmOptions.Source
    covariance: FirmOptions.Covariance
    bin_count: int
    keep_bias: bool
    standardize: bool
    contrasts: _containers.RepeatedScalarFieldContainer[FirmOptions.Contrast]
    one_hot_target: bool
    repeat_count: int
    confidence_level: float
    sequences: FirmSequences
    groups: _containers.RepeatedCompositeFieldContainer[_partial_dependence_pb2.FeatureGroup]
    def __init__(self, features: _Optional[_Iterable[str]] = ..., pairs: _Optional[_Iterable[_Union[FirmPairs, _Mapping]]] = ..., estimator: _Optional[_Union[FirmOptions.Estimator, str]] = ..., source: _Optional[_Union[FirmOptions.Source, str]] = ..., covariance: _Optional[_Union[FirmOptions.Covariance, str]] = ..., bin_count: _Optional[int] = ..., keep_bias: bool = ..., standardize: bool = ..., contrasts: _Optional[_Iterable[_Union[FirmOptions.Contrast, str]]] = ..., one_hot_target: bool = ..., repeat_count: _Optional[int] = ..., confidence_level: _Optional[float] = ..., sequences: _Optional[_Union[FirmSequences, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[_partial_dependence_pb2.FeatureGroup, _Mapping]]] = ...) -> None: ...

class FirmPairs(_message.Message):
    __slots__ = ("features", "combination", "include_negations")
    class Combination(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        COMBINATION_UNSPECIFIED: _ClassVar[FirmPairs.Combination]
        CONJUNCTION: _ClassVar[FirmPairs.Combination]
        DISJUNCTION: _ClassVar[FirmPairs.Combination]
        EXCLUSIVE_OR: _ClassVar[FirmPairs.Combination]
        PRODUCT: _ClassVar[FirmPairs.Combination]
    COMBINATION_UNSPECIFIED: FirmPairs.Combination
    CONJUNCTION: FirmPairs.Combination
    DISJUNCTION: FirmPairs.Combination
    EXCLUSIVE_OR: FirmPairs.Combination
    PRODUCT: FirmPairs.Combination
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    COMBINATION_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_NEGATIONS_FIELD_NUMBER: _ClassVar[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    combination: FirmPairs.Combination
    include_negations: bool
    def __init__(self, features: _Optional[_Iterable[str]] = ..., combination: _Optional[_Union[FirmPairs.Combination, str]] = ..., include_negations: bool = ...) -> None: ...

class FirmSequences(_message.Message):
    __slots__ = ("column", "alphabet", "length", "background", "weights", "max_length", "motifs", "top_count", "layout", "sample_count")
    class Layout(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        LAYOUT_UNSPECIFIED: _ClassVar[FirmSequences.Layout]
        POSITION_MAJOR: _ClassVar[FirmSequences.Layout]
        LETTER_MAJOR: _ClassVar[FirmSequences.Layout]
    LAYOUT_UNSPECIFIED: FirmSequences.Layout
    POSITION_MAJOR: FirmSequences.Layout
    LETTER_MAJOR: FirmSequences.Layout
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    ALPHABET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MOTIFS_FIELD_NUMBER: _ClassVar[int]
    TOP_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    column: str
    alphabet: str
    length: int
    background: FirmBackground
    weights: FirmKmerWeights
    max_length: int
    motifs: _containers.RepeatedScalarFieldContainer[str]
    top_count: int
    layout: FirmSequences.Layout
    sample_count: int
    def __init__(self, column: _Optional[str] = ..., alphabet: _Optional[str] = ..., length: _Optional[int] = ..., background: _Optional[_Union[FirmBackground, _Mapping]] = ..., weights: _Optional[_Union[FirmKmerWeights, _Mapping]] = ..., max_length: _Optional[int] = ..., motifs: _Optional[_Iterable[str]] = ..., top_count: _Optional[int] = ..., layout: _Optional[_Union[FirmSequences.Layout, str]] = ..., sample_count: _Optional[int] = ...) -> None: ...

class FirmBackground(_message.Message):
    __slots__ = ("order", "initial", "transitions", "pseudo_count")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    INITIAL_FIELD_NUMBER: _ClassVar[int]
    TRANSITIONS_FIELD_NUMBER: _ClassVar[int]
    PSEUDO_COUNT_FIELD_NUMBER: _ClassVar[int]
    order: int
    initial: _containers.RepeatedScalarFieldContainer[float]
    transitions: _containers.RepeatedScalarFieldContainer[float]
    pseudo_count: float
    def __init__(self, order: _Optional[int] = ..., initial: _Optional[_Iterable[float]] = ..., transitions: _Optional[_Iterable[float]] = ..., pseudo_count: _Optional[float] = ...) -> None: ...

class FirmKmerWeights(_message.Message):
    __slots__ = ("kmers", "positions", "values", "constant")
    KMERS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    kmers: _containers.RepeatedScalarFieldContainer[str]
    positions: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    constant: float
    def __init__(self, kmers: _Optional[_Iterable[str]] = ..., positions: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., constant: _Optional[float] = ...) -> None: ...

class FirmResult(_message.Message):
    __slots__ = ("output_names", "importances", "contrasts", "mean_scores", "score_standard_deviations", "confidence_level", "sequences")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    CONTRASTS_FIELD_NUMBER: _ClassVar[int]
    MEAN_SCORES_FIELD_NUMBER: _ClassVar[int]
    SCORE_STANDARD_DEVIATIONS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    importances: _containers.RepeatedCompositeFieldContainer[FirmImportance]
    contrasts: _containers.RepeatedCompositeFieldContainer[FirmContrast]
    mean_scores: _containers.RepeatedScalarFieldContainer[float]
    score_standard_deviations: _containers.RepeatedScalarFieldContainer[float]
    confidence_level: float
    sequences: FirmSequencesResult
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., importances: _Optional[_Iterable[_Union[FirmImportance, _Mapping]]] = ..., contrasts: _Optional[_Iterable[_Union[FirmContrast, _Mapping]]] = ..., mean_scores: _Optional[_Iterable[float]] = ..., score_standard_deviations: _Optional[_Iterable[float]] = ..., confidence_level: _Optional[float] = ..., sequences: _Optional[_Union[FirmSequencesResult, _Mapping]] = ...) -> None: ...

class FirmImportance(_message.Message):
    __slots__ = ("feature", "values", "standard_errors", "lower", "upper", "estimator", "curve", "grouped_features")
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    ESTIMATOR_FIELD_NUMBER: _ClassVar[int]
    CURVE_FIELD_NUMBER: _ClassVar[int]
    GROUPED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    feature: str
    values: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    estimator: FirmOptions.Estimator
    curve: FirmCurve
    grouped_features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, feature: _Optional[str] = ..., values: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ..., estimator: _Optional[_Union[FirmOptions.Estimator, str]] = ..., curve: _Optional[_Union[FirmCurve, _Mapping]] = ..., grouped_features: _Optional[_Iterable[str]] = ...) -> None: ...

class FirmCurve(_message.Message):
    __slots__ = ("numbers", "texts", "expected_scores", "shares")
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_SCORES_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    numbers: _containers.RepeatedScalarFieldContainer[float]
    texts: _containers.RepeatedScalarFieldContainer[str]
    expected_scores: _containers.RepeatedScalarFieldContainer[float]
    shares: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, numbers: _Optional[_Iterable[float]] = ..., texts: _Optional[_Iterable[str]] = ..., expected_scores: _Optional[_Iterable[float]] = ..., shares: _Optional[_Iterable[float]] = ...) -> None: ...

class FirmContrast(_message.Message):
    __slots__ = ("contrast", "feature", "values")
    CONTRAST_FIELD_NUMBER: _ClassVar[int]
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    contrast: FirmOptions.Contrast
    feature: str
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, contrast: _Optional[_Union[FirmOptions.Contrast, str]] = ..., feature: _Optional[str] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class FirmSequencesResult(_message.Message):
    __slots__ = ("alphabet", "length", "is_exact", "background", "kmers", "top", "motifs")
    ALPHABET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    IS_EXACT_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    KMERS_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    MOTIFS_FIELD_NUMBER: _ClassVar[int]
    alphabet: str
    length: int
    is_exact: bool
    background: FirmBackground
    kmers: _containers.RepeatedCompositeFieldContainer[FirmKmers]
    top: _containers.RepeatedCompositeFieldContainer[FirmTopKmer]
    motifs: _containers.RepeatedCompositeFieldContainer[FirmMotif]
    def __init__(self, alphabet: _Optional[str] = ..., length: _Optional[int] = ..., is_exact: bool = ..., background: _Optional[_Union[FirmBackground, _Mapping]] = ..., kmers: _Optional[_Iterable[_Union[FirmKmers, _Mapping]]] = ..., top: _Optional[_Iterable[_Union[FirmTopKmer, _Mapping]]] = ..., motifs: _Optional[_Iterable[_Union[FirmMotif, _Mapping]]] = ...) -> None: ...

class FirmKmers(_message.Message):
    __slots__ = ("length", "differences", "importances", "standard_errors")
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    length: int
    differences: _containers.RepeatedScalarFieldContainer[float]
    importances: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, length: _Optional[int] = ..., differences: _Optional[_Iterable[float]] = ..., importances: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ...) -> None: ...

class FirmTopKmer(_message.Message):
    __slots__ = ("kmer", "position", "output_index", "difference", "importance")
    KMER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_INDEX_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    kmer: str
    position: int
    output_index: int
    difference: float
    importance: float
    def __init__(self, kmer: _Optional[str] = ..., position: _Optional[int] = ..., output_index: _Optional[int] = ..., difference: _Optional[float] = ..., importance: _Optional[float] = ...) -> None: ...

class FirmMotif(_message.Message):
    __slots__ = ("motif", "mismatches")
    MOTIF_FIELD_NUMBER: _ClassVar[int]
    MISMATCHES_FIELD_NUMBER: _ClassVar[int]
    motif: str
    mismatches: _containers.RepeatedCompositeFieldContainer[FirmMismatches]
    def __init__(self, motif: _Optional[str] = ..., mismatches: _Optional[_Iterable[_Union[FirmMismatches, _Mapping]]] = ...) -> None: ...

class FirmMismatches(_message.Message):
    __slots__ = ("mismatch_count", "kmer_count", "differences", "difference_standard_deviations", "importances", "importance_standard_deviations", "weights", "weight_standard_deviations")
    MISMATCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    KMER_COUNT_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_STANDARD_DEVIATIONS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_STANDARD_DEVIATIONS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_STANDARD_DEVIATIONS_FIELD_NUMBER: _ClassVar[int]
    mismatch_count: int
    kmer_count: int
    differences: _containers.RepeatedScalarFieldContainer[float]
    difference_standard_deviations: _containers.RepeatedScalarFieldContainer[float]
    importances: _containers.RepeatedScalarFieldContainer[float]
    importance_standard_deviations: _containers.RepeatedScalarFieldContainer[float]
    weights: _containers.RepeatedScalarFieldContainer[float]
    weight_standard_deviations: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, mismatch_count: _Optional[int] = ..., kmer_count: _Optional[int] = ..., differences: _Optional[_Iterable[float]] = ..., difference_standard_deviations: _Optional[_Iterable[float]] = ..., importances: _Optional[_Iterable[float]] = ..., importance_standard_deviations: _Optional[_Iterable[float]] = ..., weights: _Optional[_Iterable[float]] = ..., weight_standard_deviations: _Optional[_Iterable[float]] = ...) -> None: ...
