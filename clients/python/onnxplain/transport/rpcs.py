"""Table of the RPCs that answer one request by one response, as the contract names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from onnxplain.v1.explanation_service_pb2 import (
    CheckModelRequest,
    CheckModelResponse,
    CompareExplanationsRequest,
    CompareExplanationsResponse,
    DescribeModelRequest,
    DescribeModelResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    ExplainRequest,
    PredictRequest,
    PredictResponse,
)
from onnxplain.v1.plan_pb2 import ExplanationPlan

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True)
class Rpc(Generic[Request, Response]):
    """RPC that answers one request by one response.

    Attributes
    ----------
    name : str
        In the contract.
    response : type of Message
    """

    name: str
    response: type[Response]


PLAN: Rpc[ExplainRequest, ExplanationPlan] = Rpc("PlanExplanation", ExplanationPlan)
DESCRIBE: Rpc[DescribeModelRequest, DescribeModelResponse] = Rpc(
    "DescribeModel", DescribeModelResponse
)
DESCRIBE_TABLE: Rpc[DescribeTableRequest, DescribeTableResponse] = Rpc(
    "DescribeTable", DescribeTableResponse
)
PREDICT: Rpc[PredictRequest, PredictResponse] = Rpc("Predict", PredictResponse)
CHECK: Rpc[CheckModelRequest, CheckModelResponse] = Rpc("CheckModel", CheckModelResponse)
COMPARE: Rpc[CompareExplanationsRequest, CompareExplanationsResponse] = Rpc(
    "CompareExplanations", CompareExplanationsResponse
)
