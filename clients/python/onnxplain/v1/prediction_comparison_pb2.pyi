from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PredictionComparison(_message.Message):
    __slots__ = ("agrees", "row_count", "differing_row_count", "outputs", "differing_rows", "likely_causes")
    AGREES_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    DIFFERING_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    DIFFERING_ROWS_FIELD_NUMBER: _ClassVar[int]
    LIKELY_CAUSES_FIELD_NUMBER: _ClassVar[int]
    agrees: bool
    row_count: int
    differing_row_count: int
    outputs: _containers.RepeatedCompositeFieldContainer[OutputComparison]
    differing_rows: _containers.RepeatedCompositeFieldContainer[DifferingRow]
    likely_causes: _containers.RepeatedCompositeFieldContainer[LikelyCause]
    def __init__(self, agrees: bool = ..., row_count: _Optional[int] = ..., differing_row_count: _Optional[int] = ..., outputs: _Optional[_Iterable[_Union[OutputComparison, _Mapping]]] = ..., differing_rows: _Optional[_Iterable[_Union[DifferingRow, _Mapping]]] = ..., likely_causes: _Optional[_Iterable[_Union[LikelyCause, _Mapping]]] = ...) -> None: ...

class OutputComparison(_message.Message):
    __slots__ = ("output_name", "expected_column", "largest_difference", "median_difference", "rounding", "differing_row_count")
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_COLUMN_FIELD_NUMBER: _ClassVar[int]
    LARGEST_DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    MEDIAN_DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    ROUNDING_FIELD_NUMBER: _ClassVar[int]
    DIFFERING_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    output_name: str
    expected_column: str
    largest_difference: float
    median_difference: float
    rounding: float
    differing_row_count: int
    def __init__(self, output_name: _Optional[str] = ..., expected_column: _Optional[str] = ..., largest_difference: _Optional[float] = ..., median_difference: _Optional[float] = ..., rounding: _Optional[float] = ..., differing_row_count: _Optional[int] = ...) -> None: ...

class DifferingRow(_message.Message):
    __slots__ = ("row_index", "expected", "predicted")
    ROW_INDEX_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_FIELD_NUMBER: _ClassVar[int]
    row_index: int
    expected: _containers.RepeatedScalarFieldContainer[float]
    predicted: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, row_index: _Optional[int] = ..., expected: _Optional[_Iterable[float]] = ..., predicted: _Optional[_Iterable[float]] = ...) -> None: ...

class LikelyCause(_message.Message):
    __slots__ = ("kind", "message", "explained_row_count", "tried_row_count")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[LikelyCause.Kind]
        OUTPUT_ORDER: _ClassVar[LikelyCause.Kind]
        FEATURE_ORDER: _ClassVar[LikelyCause.Kind]
        LINK: _ClassVar[LikelyCause.Kind]
        CLASS_LABELS: _ClassVar[LikelyCause.Kind]
        FACTOR_OR_CONSTANT: _ClassVar[LikelyCause.Kind]
        THRESHOLD_ROUNDING: _ClassVar[LikelyCause.Kind]
        MISSING_VALUES: _ClassVar[LikelyCause.Kind]
        UNKNOWN_CATEGORY: _ClassVar[LikelyCause.Kind]
        CONVERTER_FAULT: _ClassVar[LikelyCause.Kind]
    KIND_UNSPECIFIED: LikelyCause.Kind
    OUTPUT_ORDER: LikelyCause.Kind
    FEATURE_ORDER: LikelyCause.Kind
    LINK: LikelyCause.Kind
    CLASS_LABELS: LikelyCause.Kind
    FACTOR_OR_CONSTANT: LikelyCause.Kind
    THRESHOLD_ROUNDING: LikelyCause.Kind
    MISSING_VALUES: LikelyCause.Kind
    UNKNOWN_CATEGORY: LikelyCause.Kind
    CONVERTER_FAULT: LikelyCause.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXPLAINED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRIED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: LikelyCause.Kind
    message: str
    explained_row_count: int
    tried_row_count: int
    def __init__(self, kind: _Optional[_Union[LikelyCause.Kind, str]] = ..., message: _Optional[str] = ..., explained_row_count: _Optional[int] = ..., tried_row_count: _Optional[int] = ...) -> None: ...
