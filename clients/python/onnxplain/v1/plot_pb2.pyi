from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Plot(_message.Message):
    __slots__ = ("name", "title", "description", "vega_lite")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    VEGA_LITE_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    description: str
    vega_lite: str
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., vega_lite: _Optional[str] = ...) -> None: ...
