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
from onnxplain_server.core.interfaces import Began, Blobs, CacheCounts, ComputationHost
from onnxplain_server.core.request import Reply, ReplyFormat
from onnxplain_server.trees.streaming.row_blocks import LargeTable
from onnxplain_server.wire.reply import encode
from typer.testing import CliRunner, Result

BARS = '{"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"x": {"field": "a"}}}'


class Parts:
    """A runner, a cache and a server, as far as the command line sees them."""

    def __init__(self, answer: pb.ExplainResponse) -> None:
        self.answer = answer
        self.error: Exception | None = None
        self.during: Callable[[ComputationHost], None] = lambda _host: None
        self.request = pb.ExplainRequest()
        self.large_tables: list[LargeTable] = []
        self.planned = plan_pb2.ExplanationPlan()
        self.described = pb.DescribeModelRequest()
        self.described_table = pb.DescribeTableRequest()
        self.predicted = pb.PredictRequest()
        self.checked = pb.CheckModelRequest()
        self.settings: Mapping[str, object] | None = None

    def explain(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        self.request.ParseFromString(request)
        self._work(host)
        return encode(self.answer, reply_format, math.inf)

    def plan(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        self.request.ParseFromString(request)
        self._work(host)
        return encode(self.planned, reply_format, math.inf)

    def explain_large(
        self, request: bytes, blobs: Blobs, table: LargeTable, host: ComputationHost
    ) -> Reply:
        self.large_tables.append(table)
        return self.explain(request, blobs, host)

    def describe(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        self.described.ParseFromString(request)
        self._work(host)
        described = pb.DescribeModelResponse(model=self.answer.model)
        return encode(described, reply_format, math.inf)

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def get_many(self, names: Sequence[str]) -> Sequence[bytes | None]:
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

    def describe_table(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        self.described_table.ParseFromString(request)
        self._work(host)
        columns = [{"name": "age"}]
        table = table_description_pb2.TableDescription(row_count=3, columns=columns)
        return encode(pb.DescribeTableResponse(table=table), reply_format, math.inf)

    def predict(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        self.predicted.ParseFromString(request)
        self._work(host)
        rows = self.predicted.row_indices
        response = pb.PredictResponse(
            output_names=["y"], row_indices=rows, values=[0.5] * len(rows)
        )
        return encode(response, reply_format, math.inf)

    def check(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        self.checked.ParseFromString(request)
        self._work(host)
        return encode(pb.CheckModelResponse(), reply_format, math.inf)

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
