"""Reflection over gRPC by both of its names, v1 and v1alpha, whose messages are equal on the wire.

`grpc_reflection` has v1alpha only, which newer clients no longer ask for.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.grpc.call_limit import CallLimit
from onnxplain_server.transport.grpc.grpc_messages import caller_key
from onnxplain_server.transport.grpc.interceptors import cancel
from onnxplain_server.transport.grpc_methods import INFERENCE_SERVICE
from onnxplain_server.wire.inference import inference_pb2

SERVICE_NAMES = ("grpc.reflection.v1.ServerReflection", reflection.SERVICE_NAME)

STREAM_COUNT = 8
"""Streams at the same time, each of which holds a thread."""

_CALLER_STREAM_COUNT = 2
_STREAM_SECONDS = 60.0

_FINAL = "grpc.reflection.v1"
_INFERENCE = INFERENCE_SERVICE.rpartition(".")[0]


def add_reflection(server: grpc.Server, names: Sequence[str]) -> None:
    """Serve reflection on these services, and on itself."""
    servicer = _Reflection([*names, *SERVICE_NAMES], _Pools())
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


class _Reflection(reflection.ReflectionServicer):  # type: ignore[misc] # it has no types
    """Reflection whose streams end after a minute, a few for each caller: each holds a thread."""

    def __init__(self, names: Sequence[str], pools: _Pools) -> None:
        super().__init__(names, pools)
        self._limit = CallLimit(STREAM_COUNT, _CALLER_STREAM_COUNT)

    def ServerReflectionInfo(  # noqa: N802 - the contract's name
        self, requests: Iterator[Any], context: grpc.ServicerContext
    ) -> Iterator[Any]:
        """Serve this method of the contract."""
        clock = threading.Timer(_STREAM_SECONDS, partial(cancel, weakref.ref(context)))
        clock.daemon = True
        clock.start()
        try:
            with self._limit.held(caller_key(context)):
                yield from super().ServerReflectionInfo(requests, context)
        except ExplainError as error:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, error.message)
        finally:
            clock.cancel()


class _Pools:
    """The default pool, and before it one with the Open Inference Protocol by its own names.

    A client of that protocol in the same process may have them in the default one.
    """

    def __init__(self) -> None:
        inference, default = descriptor_pool.DescriptorPool(), descriptor_pool.Default()
        for pool, file, package in (
            (default, reflection_pb2, _FINAL),
            (inference, inference_pb2, _INFERENCE),
        ):
            pool.AddSerializedFile(_renamed(file.DESCRIPTOR, package).SerializeToString())
        self._pools: tuple[Any, ...] = (inference, default)

    def FindFileByName(self, name: str) -> FileDescriptor:  # noqa: N802 - of a pool, as all here
        found: FileDescriptor = self._found("FindFileByName", name)
        return found

    def FindFileContainingSymbol(self, name: str) -> FileDescriptor:  # noqa: N802
        found: FileDescriptor = self._found("FindFileContainingSymbol", name)
        return found

    def FindMessageTypeByName(self, name: str) -> Descriptor:  # noqa: N802
        found: Descriptor = self._found("FindMessageTypeByName", name)
        return found

    def FindExtensionByNumber(self, message: Descriptor, number: int) -> Any:  # noqa: N802
        return message.file.pool.FindExtensionByNumber(message, number)

    def FindAllExtensions(self, message: Descriptor) -> Any:  # noqa: N802
        return message.file.pool.FindAllExtensions(message)

    def _found(self, method: str, name: str) -> Any:
        """Return what the first pool that knows the name has; KeyError."""
        for pool in self._pools[:-1]:
            try:
                return getattr(pool, method)(name)
            except KeyError:
                continue
        return getattr(self._pools[-1], method)(name)


def _renamed(found: FileDescriptor, package: str) -> FileDescriptorProto:
    """Return a file without imports in another package."""
    file = FileDescriptorProto()
    found.CopyToProto(file)
    before, after = f".{file.package}.", f".{package}."
    file.package = package
    file.name = f"{package.replace('.', '/')}/{found.name.rpartition('/')[2]}"
    messages = [*file.message_type]
    while messages:
        message = messages.pop()
        messages += message.nested_type
        for field in filter(lambda field: field.HasField("type_name"), message.field):
            field.type_name = field.type_name.replace(before, after)
    for method in file.service[0].method:
        method.input_type = method.input_type.replace(before, after)
        method.output_type = method.output_type.replace(before, after)
    return file
