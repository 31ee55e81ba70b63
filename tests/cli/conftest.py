"""Command line over fake parts, shared by the tests of commands."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1 import (
    interactions_pb2,
    partial_dependence_pb2,
    plan_pb2,
    plot_pb2,
    table_description_pb2,
    table_pb2,
)
from onnxplain_server import cli
from onnxplain_server.core.interfaces import (
    Began,
    CacheCounts,
    Call,
    ComputationHost,
    GoOn,
    RunnerHost,
)
from onnxplain_server.core.request import Reply, ServiceMethod
from onnxplain_server.trees.streaming.row_blocks import LargeTable
from onnxplain_server.wire.reply import encode
from typer.testing import CliRunner, Result

BARS = '{"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"x": {"field": "a"}}}'


class Parts:
    """A runner, a cache and a server, as far as the command line sees them."""

    def __init__(self, answer: pb.ExplainResponse) -> None:
        self.answered = answer
        self.error: Exception | None = None
        self.during: Callable[[ComputationHost], None] = lambda _host: None
        self.request = pb.ExplainRequest()
        self.large_tables: list[LargeTable] = []
        self.planned = plan_pb2.ExplanationPlan()
        self.described = pb.DescribeModelRequest()
        self.described_table = pb.DescribeTableRequest()
        self.predicted = pb.PredictRequest()
        self.checked = pb.CheckModelRequest()
        self._asked: Mapping[ServiceMethod, Any] = {
            ServiceMethod.EXPLAIN: self.request,
            ServiceMethod.PLAN: self.request,
            ServiceMethod.DESCRIBE: self.described,
            ServiceMethod.DESCRIBE_TABLE: self.described_table,
            ServiceMethod.PREDICT: self.predicted,
            ServiceMethod.CHECK: self.checked,
        }
        self.settings: Mapping[str, object] | None = None

    def answer(self, call: Call, host: RunnerHost, table: LargeTable | None = None) -> Reply:
        if table is not None:
            self.large_tables.append(table)
        self._asked[call.method].ParseFromString(call.request)
        self._work(host)
        return encode(self._response(call.method), call.reply_format, math.inf)

    def _response(self, method: ServiceMethod) -> Any:
        rows = self.predicted.row_indices
        table = table_description_pb2.TableDescription(row_count=3, columns=[{"name": "age"}])
        responses = {
            ServiceMethod.EXPLAIN: self.answered,
            ServiceMethod.PLAN: self.planned,
            ServiceMethod.DESCRIBE: pb.DescribeModelResponse(model=self.answered.model),
            ServiceMethod.DESCRIBE_TABLE: pb.DescribeTableResponse(table=table),
            ServiceMethod.PREDICT: pb.PredictResponse(
                output_names=["y"], row_indices=rows, values=[0.5] * len(rows)
            ),
            ServiceMethod.CHECK: pb.CheckModelResponse(),
        }
        return responses[method]

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def get_many(
        self, names: Sequence[str], go_on: GoOn = lambda _bytes: True
    ) -> Sequence[bytes | None]:
        return [None for _ in names]

    def put_many(self, entries: Mapping[str, bytes]) -> None: ...

    def counts(self) -> CacheCounts:
        return CacheCounts(0, 0, 0, 0)

    def serve(self, flags: Mapping[str, object], began: Began) -> None:
        self.settings = flags
        self._fail()
        began(0, 0)

    def for_commands(self) -> cli.ServiceParts:
        return cli.ServiceParts(runner=lambda _workers: self, cache=lambda: self, serve=self.serve)

    def _work(self, host: ComputationHost) -> None:
        host.advance(1, 10)
        self.during(host)
        host.advance(10, 10)
        self._fail()

    def _fail(self) -> None:
        if self.error:
            raise self.error


def _statistic(features: list[str], numerator: float) -> interactions_pb2.InteractionStatistic:
    return interactions_pb2.InteractionStatistic(
        features=features, numerators=[numerator], denominators=[16.0], values=[numerator / 16]
    )


@pytest.fixture
def answer() -> pb.ExplainResponse:
    statistics = interactions_pb2.InteractionsResult(
        output_names=["price"],
        mean_squares=[16.0],
        total=_statistic([], 4.0),
        overall=[_statistic(["age"], 0.0625), _statistic(["bmi"], 1.0)],
        pairwise=[_statistic(["age", "bmi"], float("nan"))],
    )
    curve = partial_dependence_pb2.PartialDependenceCurve(
        features=["age"],
        grid=[table_pb2.Column(name="age", numbers=[20, 30, float("nan")])],
        values=[104.123, 101.987, 103.5],
    )
    curves = partial_dependence_pb2.PartialDependenceResult(output_names=["price"], curves=[curve])
    plots = [
        plot_pb2.Plot(name=name, title=name, description=f"The {name}.", vega_lite=BARS)
        for name in ("overall", "curve-age")
    ]
    return pb.ExplainResponse(
        explanations=[
            pb.Explanation(interactions=statistics, plots=plots[:1]),
            pb.Explanation(
                partial_dependence=curves,
                plots=plots[1:],
                rows={"drawn_row_count": 500, "used_row_count": 500, "weight": 500, "seed": 3},
            ),
        ],
        model={"digest": "sha256:00", "output_names": ["price"], "scales": ["RESPONSE"]},
        receipt=pb.Receipt(
            row_count=7,
            seed=3,
            predicted_row_count=1234,
            engine="BLACK_BOX",
            library_versions={"numpy": "2.4"},
            elapsed={"seconds": 2},
        ),
        warnings=[{"code": "LABELS_ONLY", "message": "only labels"}],
    )


@pytest.fixture
def parts(answer: pb.ExplainResponse) -> Parts:
    return Parts(answer)


@pytest.fixture
def run(parts: Parts) -> Callable[..., Result]:
    """Run a command in this process: run("explain", "model.onnx", ...)."""

    def invoke(*arguments: str | Path, stdin: bytes | None = None) -> Result:
        words: list[Any] = [str(argument) for argument in arguments]
        return CliRunner().invoke(cli.app, words, input=stdin, obj=parts.for_commands())

    return invoke


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(
        b"\x3a\x04\x0a\x00\x62\x00"
    )  # the outline of one: a graph of a node and an output
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"age,bmi\n20,21\n")
    return path
