from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Model(_message.Message):
    __slots__ = ("content", "id", "uri", "remote", "sha256", "files")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    REMOTE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    id: str
    uri: str
    remote: RemoteModel
    sha256: str
    files: _containers.RepeatedCompositeFieldContainer[ModelFile]
    def __init__(self, content: _Optional[bytes] = ..., id: _Optional[str] = ..., uri: _Optional[str] = ..., remote: _Optional[_Union[RemoteModel, _Mapping]] = ..., sha256: _Optional[str] = ..., files: _Optional[_Iterable[_Union[ModelFile, _Mapping]]] = ...) -> None: ...

class ModelFile(_message.Message):
    __slots__ = ("name", "content")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    content: bytes
    def __init__(self, name: _Optional[str] = ..., content: _Optional[bytes] = ...) -> None: ...

class RemoteModel(_message.Message):
    __slots__ = ("uri", "protocol", "name", "version", "inputs", "output", "output_names", "identity")
    class Protocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PROTOCOL_UNSPECIFIED: _ClassVar[RemoteModel.Protocol]
        OIP_REST: _ClassVar[RemoteModel.Protocol]
        OIP_GRPC: _ClassVar[RemoteModel.Protocol]
        KSERVE_V1: _ClassVar[RemoteModel.Protocol]
        MLFLOW: _ClassVar[RemoteModel.Protocol]
    PROTOCOL_UNSPECIFIED: RemoteModel.Protocol
    OIP_REST: RemoteModel.Protocol
    OIP_GRPC: RemoteModel.Protocol
    KSERVE_V1: RemoteModel.Protocol
    MLFLOW: RemoteModel.Protocol
    URI_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    uri: str
    protocol: RemoteModel.Protocol
    name: str
    version: str
    inputs: _containers.RepeatedCompositeFieldContainer[RemoteInput]
    output: str
    output_names: _containers.RepeatedScalarFieldContainer[str]
    identity: str
    def __init__(self, uri: _Optional[str] = ..., protocol: _Optional[_Union[RemoteModel.Protocol, str]] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[RemoteInput, _Mapping]]] = ..., output: _Optional[str] = ..., output_names: _Optional[_Iterable[str]] = ..., identity: _Optional[str] = ...) -> None: ...

class RemoteInput(_message.Message):
    __slots__ = ("name", "type", "columns")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ...) -> None: ...

class ModelDescription(_message.Message):
    __slots__ = ("digest", "inputs", "output_names", "scales", "margin_refusal", "operators", "producer", "has_class_scores", "feature_names", "default_output_indices", "producer_version", "tree_count", "tree_depth", "summary")
    class Scale(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SCALE_UNSPECIFIED: _ClassVar[ModelDescription.Scale]
        RESPONSE: _ClassVar[ModelDescription.Scale]
        MARGIN: _ClassVar[ModelDescription.Scale]
    SCALE_UNSPECIFIED: ModelDescription.Scale
    RESPONSE: ModelDescription.Scale
    MARGIN: ModelDescription.Scale
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    SCALES_FIELD_NUMBER: _ClassVar[int]
    MARGIN_REFUSAL_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    HAS_CLASS_SCORES_FIELD_NUMBER: _ClassVar[int]
    FEATURE_NAMES_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_OUTPUT_INDICES_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_VERSION_FIELD_NUMBER: _ClassVar[int]
    TREE_COUNT_FIELD_NUMBER: _ClassVar[int]
    TREE_DEPTH_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    digest: str
    inputs: _containers.RepeatedCompositeFieldContainer[ModelInput]
    output_names: _containers.RepeatedScalarFieldContainer[str]
    scales: _containers.RepeatedScalarFieldContainer[ModelDescription.Scale]
    margin_refusal: str
    operators: _containers.RepeatedScalarFieldContainer[str]
    producer: str
    has_class_scores: bool
    feature_names: _containers.RepeatedScalarFieldContainer[str]
    default_output_indices: _containers.RepeatedScalarFieldContainer[int]
    producer_version: str
    tree_count: int
    tree_depth: int
    summary: str
    def __init__(self, digest: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[ModelInput, _Mapping]]] = ..., output_names: _Optional[_Iterable[str]] = ..., scales: _Optional[_Iterable[_Union[ModelDescription.Scale, str]]] = ..., margin_refusal: _Optional[str] = ..., operators: _Optional[_Iterable[str]] = ..., producer: _Optional[str] = ..., has_class_scores: bool = ..., feature_names: _Optional[_Iterable[str]] = ..., default_output_indices: _Optional[_Iterable[int]] = ..., producer_version: _Optional[str] = ..., tree_count: _Optional[int] = ..., tree_depth: _Optional[int] = ..., summary: _Optional[str] = ...) -> None: ...

class ModelInput(_message.Message):
    __slots__ = ("name", "type", "width")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    width: int
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., width: _Optional[int] = ...) -> None: ...
