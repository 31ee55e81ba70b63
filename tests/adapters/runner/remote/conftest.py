"""Models behind a real server of this process, asked by an in-process runner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
)
from onnxplain.v1.model_pb2 import Model, RemoteModel
from onnxplain.v1.plan_pb2 import ExplanationPlan
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.remote.models import RemotePredictions
from onnxplain_server.core.request import ServiceMethod

from tools.stores.model_server import NAME, ServedModel, serving


@dataclass
class Asking:
    """A runner that asks remote models by a policy, and a model that is served.

    Attributes
    ----------
    calls : list of int
        Rows of each call that the computation made.
    """

    runner: InProcess
    served: ServedModel
    url: str
    calls: list[int] = field(default_factory=list)

    def model(self, **given: Any) -> Model:
        usual: dict[str, Any] = {"uri": self.url, "protocol": "OIP_REST", "name": NAME}
        return Model(remote=RemoteModel(**(usual | given)))

    def request(self, table: bytes, *methods: Any, **given: Any) -> ExplainRequest:
        usual: dict[str, Any] = {"model": self.model(), "table": Table(csv=table)}
        return ExplainRequest(methods=methods, **(usual | given))

    def explain(self, host: Any, request: ExplainRequest) -> ExplainResponse:
        reply = self.runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), host)
        return ExplainResponse.FromString(reply.content)

    def plan(self, host: Any, request: ExplainRequest) -> ExplanationPlan:
        reply = self.runner.answer(Call(ServiceMethod.PLAN, request.SerializeToString()), host)
        return ExplanationPlan.FromString(reply.content)

    def describe(self, host: Any, model: Model) -> Any:
        request = DescribeModelRequest(model=model).SerializeToString()
        return DescribeModelResponse.FromString(
            self.runner.answer(Call(ServiceMethod.DESCRIBE, request), host).content
        )


@pytest.fixture
def asking() -> Iterator[Callable[..., Asking]]:
    with ExitStack() as stack:

        def make(served: ServedModel, **policy: Any) -> Asking:
            url = stack.enter_context(serving(served)).url
            made = Asking(None, served, url)  # type: ignore[arg-type] # below

            def opened(address: Any, control: Any) -> RemotePredictions:
                return open_remote(address, RemotePolicy(**policy), control)

            made.runner = InProcess(2, remotes=opened)
            stack.callback(made.runner.close)
            return made

        yield make
