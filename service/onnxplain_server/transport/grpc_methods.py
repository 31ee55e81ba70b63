"""Methods of gRPC that this server has, by their names, which differ between its services."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from google.longrunning import operations_pb2
from google.protobuf.descriptor import MethodDescriptor
from onnxplain.v1 import explanation_service_pb2

from onnxplain_server.wire.inference import inference_pb2

_EXPLANATIONS = explanation_service_pb2.DESCRIPTOR.services_by_name["ExplanationService"]
_OPERATIONS = operations_pb2.DESCRIPTOR.services_by_name["Operations"]
_INFERENCE = inference_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"]

EXPLANATION_SERVICE = str(_EXPLANATIONS.full_name)
OPERATIONS_SERVICE = str(_OPERATIONS.full_name)
INFERENCE_SERVICE = f"inference.{_INFERENCE.name}"
"""Open Inference Protocol, of explainers."""
MODEL_INFER = "ModelInfer"
"""Its only method that computes; the others are asked by probes."""

METHODS: Mapping[str, MethodDescriptor] = MappingProxyType(
    {
        **{each.name: each for service in (_EXPLANATIONS, _OPERATIONS) for each in service.methods},
        MODEL_INFER: _INFERENCE.methods_by_name[MODEL_INFER],
    }
)

STREAMS = frozenset(name for name, method in METHODS.items() if method.server_streaming)


def service_of(method: str) -> str:
    """Return the full name of a method's service; that of the first for unknown methods."""
    if method == MODEL_INFER:
        return INFERENCE_SERVICE
    known = METHODS.get(method)
    return EXPLANATION_SERVICE if known is None else str(known.containing_service.full_name)
