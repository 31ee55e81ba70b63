"""Reflection over gRPC by both of its names, v1 and v1alpha, whose messages are equal on the wire.

`grpc_reflection` has v1alpha only, which newer clients no longer ask for.
"""

from __future__ import annotations

from collections.abc import Sequence

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

SERVICE_NAMES = ("grpc.reflection.v1.ServerReflection", reflection.SERVICE_NAME)

_ALPHA, _FINAL = "grpc.reflection.v1alpha", "grpc.reflection.v1"


def add_reflection(server: grpc.Server, names: Sequence[str]) -> None:
    """Serve reflection on these services, and on itself."""
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(_final_file().SerializeToString())
    servicer = reflection.ReflectionServicer([*names, *SERVICE_NAMES], pool)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        reflection_pb2.ServerReflectionRequest.FromString,
        reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    handlers = grpc.method_handlers_generic_handler(
        SERVICE_NAMES[0], {"ServerReflectionInfo": handler}
    )
    server.add_generic_rpc_handlers((handlers,))


def _final_file() -> FileDescriptorProto:
    """Return the file of v1: that of v1alpha in another package."""
    file = FileDescriptorProto()
    reflection_pb2.DESCRIPTOR.CopyToProto(file)
    file.name, file.package = "grpc/reflection/v1/reflection.proto", _FINAL
    for message in file.message_type:
        for field in filter(lambda field: field.HasField("type_name"), message.field):
            field.type_name = field.type_name.replace(_ALPHA, _FINAL)
    for method in file.service[0].method:
        method.input_type = method.input_type.replace(_ALPHA, _FINAL)
        method.output_type = method.output_type.replace(_ALPHA, _FINAL)
    return file
