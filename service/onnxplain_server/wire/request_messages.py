"""Table of the calls that a runner answers: their names in the contract, and their messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from google.protobuf.message_factory import GetMessageClass
from onnxplain.v1.explanation_service_pb2 import (
    DESCRIPTOR,
    CheckModelRequest,
    DescribeModelRequest,
    DescribeTableRequest,
    ExplainRequest,
    PredictRequest,
)

from onnxplain_server.core.request import ServiceMethod

FileRequest: TypeAlias = (
    ExplainRequest
    | DescribeModelRequest
    | DescribeTableRequest
    | PredictRequest
    | CheckModelRequest
)
"""Request that has a model or a table."""

RPCS: Mapping[ServiceMethod, str] = MappingProxyType(
    {
        ServiceMethod.EXPLAIN: "Explain",
        ServiceMethod.PLAN: "PlanExplanation",
        ServiceMethod.DESCRIBE: "DescribeModel",
        ServiceMethod.DESCRIBE_TABLE: "DescribeTable",
        ServiceMethod.PREDICT: "Predict",
        ServiceMethod.CHECK: "CheckModel",
    }
)
"""Names in the contract of the methods that a runner answers."""

_METHODS = DESCRIPTOR.services_by_name["ExplanationService"].methods_by_name
REQUESTS: Mapping[ServiceMethod, Any] = MappingProxyType(
    {method: GetMessageClass(_METHODS[name].input_type) for method, name in RPCS.items()}
)
"""Classes of the messages that these methods take."""
