"""Table of the calls that a runner answers: their names in the contract, paths, and messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from google.protobuf.message_factory import GetMessageClass
from onnxplain.v1.explanation_service_pb2 import DESCRIPTOR

from onnxplain_server.core.request import ServiceMethod


class ContractNames(NamedTuple):
    """Names of a call on the surfaces.

    Attributes
    ----------
    rpc : str
        Its method in the contract.
    path : str
        Its path of REST, by POST.
    """

    rpc: str
    path: str


CALLS: Mapping[ServiceMethod, ContractNames] = MappingProxyType(
    {
        ServiceMethod.EXPLAIN: ContractNames("Explain", "/v1/explanations"),
        ServiceMethod.PLAN: ContractNames("PlanExplanation", "/v1/explanations:plan"),
        ServiceMethod.DESCRIBE: ContractNames("DescribeModel", "/v1/models:describe"),
        ServiceMethod.DESCRIBE_TABLE: ContractNames("DescribeTable", "/v1/tables:describe"),
        ServiceMethod.PREDICT: ContractNames("Predict", "/v1/predictions"),
        ServiceMethod.CHECK: ContractNames("CheckModel", "/v1/models:check"),
        ServiceMethod.COMPARE: ContractNames("CompareExplanations", "/v1/comparisons"),
    }
)
"""Calls that a runner answers, by their methods."""

ANSWERED = tuple(method for method in CALLS if method is not ServiceMethod.EXPLAIN)
"""Those that answer at once, with no parts before the reply."""

METHODS: Mapping[str, ServiceMethod] = MappingProxyType({n.rpc: m for m, n in CALLS.items()})
"""Methods by their names in the contract."""

_RPCS = DESCRIPTOR.services_by_name["ExplanationService"].methods_by_name
REQUESTS: Mapping[ServiceMethod, Any] = MappingProxyType(
    {method: GetMessageClass(_RPCS[each.rpc].input_type) for method, each in CALLS.items()}
)
"""Classes of the messages that these methods take."""


def files_of(method: ServiceMethod) -> tuple[str, ...]:
    """Return the fields of a method's requests that may be files: model, table, both, or none."""
    fields = REQUESTS[method].DESCRIPTOR.fields_by_name
    return tuple(name for name in ("model", "table") if name in fields)
