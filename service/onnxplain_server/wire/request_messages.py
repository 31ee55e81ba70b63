"""Messages of requests that have a model or a table, by the method of the service."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from onnxplain.v1.explanation_service_pb2 import (
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

REQUESTS: Mapping[ServiceMethod, Any] = MappingProxyType(
    {
        ServiceMethod.EXPLAIN: ExplainRequest,
        ServiceMethod.PLAN: ExplainRequest,
        ServiceMethod.DESCRIBE: DescribeModelRequest,
        ServiceMethod.DESCRIBE_TABLE: DescribeTableRequest,
        ServiceMethod.PREDICT: PredictRequest,
        ServiceMethod.CHECK: CheckModelRequest,
    }
)
