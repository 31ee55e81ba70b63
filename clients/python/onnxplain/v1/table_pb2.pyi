from onnxplain.v1 import upload_pb2 as _upload_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Table(_message.Message):
    __slots__ = ("arrow", "parquet", "csv", "columns", "id", "uris")
    ARROW_FIELD_NUMBER: _ClassVar[int]
    PARQUET_FIELD_NUMBER: _ClassVar[int]
    CSV_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    URIS_FIELD_NUMBER: _ClassVar[int]
    arrow: bytes
    parquet: bytes
    csv: bytes
    columns: Columns
    id: str
    uris: TableUris
    def __init__(self, arrow: _Optional[bytes] = ..., parquet: _Optional[bytes] = ..., csv: _Optional[bytes] = ..., columns: _Optional[_Union[Columns, _Mapping]] = ..., id: _Optional[str] = ..., uris: _Optional[_Union[TableUris, _Mapping]] = ...) -> None: ...

class TableUris(_message.Message):
    __slots__ = ("uris", "format", "filters")
    URIS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    uris: _containers.RepeatedScalarFieldContainer[str]
    format: _upload_pb2.UploadTableRequest.Format
    filters: _containers.RepeatedCompositeFieldContainer[TableFilter]
    def __init__(self, uris: _Optional[_Iterable[str]] = ..., format: _Optional[_Union[_upload_pb2.UploadTableRequest.Format, str]] = ..., filters: _Optional[_Iterable[_Union[TableFilter, _Mapping]]] = ...) -> None: ...

class TableFilter(_message.Message):
    __slots__ = ("column", "comparison", "values")
    class Comparison(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        COMPARISON_UNSPECIFIED: _ClassVar[TableFilter.Comparison]
        EQUAL: _ClassVar[TableFilter.Comparison]
        NOT_EQUAL: _ClassVar[TableFilter.Comparison]
        LESS: _ClassVar[TableFilter.Comparison]
        LESS_OR_EQUAL: _ClassVar[TableFilter.Comparison]
        GREATER: _ClassVar[TableFilter.Comparison]
        GREATER_OR_EQUAL: _ClassVar[TableFilter.Comparison]
    COMPARISON_UNSPECIFIED: TableFilter.Comparison
    EQUAL: TableFilter.Comparison
    NOT_EQUAL: TableFilter.Comparison
    LESS: TableFilter.Comparison
    LESS_OR_EQUAL: TableFilter.Comparison
    GREATER: TableFilter.Comparison
    GREATER_OR_EQUAL: TableFilter.Comparison
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    column: str
    comparison: TableFilter.Comparison
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, column: _Optional[str] = ..., comparison: _Optional[_Union[TableFilter.Comparison, str]] = ..., values: _Optional[_Iterable[str]] = ...) -> None: ...

class Columns(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("name", "numbers", "strings")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    numbers: _containers.RepeatedScalarFieldContainer[float]
    strings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., numbers: _Optional[_Iterable[float]] = ..., strings: _Optional[_Iterable[str]] = ...) -> None: ...
