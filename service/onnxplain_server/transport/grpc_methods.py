"""Methods of gRPC that this server has, by their names, which differ between its services."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from google.longrunning import operations_pb2
from google.protobuf.descriptor import MethodDescriptor
from onnxplain.v1 import explanation_service_pb2

_EXPLANATIONS = explanation_service_pb2.DESCRIPTOR.services_by_name["ExplanationService"]
_OPERATIONS = operations_pb2.DESCRIPTOR.services_by_name["Operations"]

EXPLANATION_SERVICE = str(_EXPLANATIONS.full_name)
OPERATIONS_SERVICE = str(_OPERATIONS.full_name)

METHODS: Mapping[str, MethodDescriptor] = MappingProxyType(
    {method.name: method for service in (_EXPLANATIONS, _OPERATIONS) for method in service.methods}
)

STREAMS = frozenset(name for name, method in METHODS.items() if method.server_streaming)


def service_of(method: str) -> str:
    """Return the full name of a method's service; that of the first for unknown methods."""
    known = METHODS.get(method)
    return EXPLANATION_SERVICE if known is None else str(known.containing_service.full_name)
