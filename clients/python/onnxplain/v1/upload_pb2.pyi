from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UploadModelRequest(_message.Message):
    __slots__ = ("content", "file")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    file: str
    def __init__(self, content: _Optional[bytes] = ..., file: _Optional[str] = ...) -> None: ...

class UploadModelResponse(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class UploadTableRequest(_message.Message):
    __slots__ = ("format", "content")
    class Format(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        FORMAT_UNSPECIFIED: _ClassVar[UploadTableRequest.Format]
        ARROW: _ClassVar[UploadTableRequest.Format]
        PARQUET: _ClassVar[UploadTableRequest.Format]
        CSV: _ClassVar[UploadTableRequest.Format]
    FORMAT_UNSPECIFIED: UploadTableRequest.Format
    ARROW: UploadTableRequest.Format
    PARQUET: UploadTableRequest.Format
    CSV: UploadTableRequest.Format
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    format: UploadTableRequest.Format
    content: bytes
    def __init__(self, format: _Optional[_Union[UploadTableRequest.Format, str]] = ..., content: _Optional[bytes] = ...) -> None: ...

class UploadTableResponse(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...
