from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FirmOptions(_message.Message):
    __slots__ = ("features", "pairs", "estimator", "source", "covariance", "bin_count", "keep_bias", "standardize", "contrasts", "one_hot_target", "repeat_count", "confidence_level")
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
    def __init__(self, features: _Optional[_Iterable[str]] = ..., pairs: _Optional[_Iterable[_Union[FirmPairs, _Mapping]]] = ..., estimator: _Optional[_Union[FirmOptions.Estimator, str]] = ..., source: _Optional[_Union[FirmOptions.Source, str]] = ..., covariance: _Optional[_Union[FirmOptions.Covariance, str]] = ..., bin_count: _Optional[int] = ..., keep_bias: bool = ..., standardize: bool = ..., contrasts: _Optional[_Iterable[_Union[FirmOptions.Contrast, str]]] = ..., one_hot_target: bool = ..., repeat_count: _Optional[int] = ..., confidence_level: _Optional[float] = ...) -> None: ...

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

class FirmResult(_message.Message):
    __slots__ = ("output_names", "importances", "contrasts", "mean_scores", "score_standard_deviations", "confidence_level")
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCES_FIELD_NUMBER: _ClassVar[int]
    CONTRASTS_FIELD_NUMBER: _ClassVar[int]
    MEAN_SCORES_FIELD_NUMBER: _ClassVar[int]
    SCORE_STANDARD_DEVIATIONS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    importances: _containers.RepeatedCompositeFieldContainer[FirmImportance]
    contrasts: _containers.RepeatedCompositeFieldContainer[FirmContrast]
    mean_scores: _containers.RepeatedScalarFieldContainer[float]
    score_standard_deviations: _containers.RepeatedScalarFieldContainer[float]
    confidence_level: float
    def __init__(self, output_names: _Optional[_Iterable[str]] = ..., importances: _Optional[_Iterable[_Union[FirmImportance, _Mapping]]] = ..., contrasts: _Optional[_Iterable[_Union[FirmContrast, _Mapping]]] = ..., mean_scores: _Optional[_Iterable[float]] = ..., score_standard_deviations: _Optional[_Iterable[float]] = ..., confidence_level: _Optional[float] = ...) -> None: ...

class FirmImportance(_message.Message):
    __slots__ = ("feature", "values", "standard_errors", "lower", "upper", "estimator", "curve")
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERRORS_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    ESTIMATOR_FIELD_NUMBER: _ClassVar[int]
    CURVE_FIELD_NUMBER: _ClassVar[int]
    feature: str
    values: _containers.RepeatedScalarFieldContainer[float]
    standard_errors: _containers.RepeatedScalarFieldContainer[float]
    lower: _containers.RepeatedScalarFieldContainer[float]
    upper: _containers.RepeatedScalarFieldContainer[float]
    estimator: FirmOptions.Estimator
    curve: FirmCurve
    def __init__(self, feature: _Optional[str] = ..., values: _Optional[_Iterable[float]] = ..., standard_errors: _Optional[_Iterable[float]] = ..., lower: _Optional[_Iterable[float]] = ..., upper: _Optional[_Iterable[float]] = ..., estimator: _Optional[_Union[FirmOptions.Estimator, str]] = ..., curve: _Optional[_Union[FirmCurve, _Mapping]] = ...) -> None: ...

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
