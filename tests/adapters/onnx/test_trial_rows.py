"""Trial rows: a model that takes none that are made up is tried on rows of the caller's table."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from onnxplain.v1.explanation_service_pb2 import (
    DescribeTableRequest,
    DescribeTableResponse,
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
    PredictRequest,
    PredictResponse,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.onnx import load, trial_rows
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.runner.on_workers.prediction_task import (
    PredictionComputer,
    PredictionJob,
    pack_job,
    pack_rows,
    pack_task,
    unpack_reply,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.model_limits import DEFAULT_LIMITS
from onnxplain_server.core.request import ServiceMethod

EFFECTS = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]], np.float32)
ROWS = b"city,a\n100,0.5\n103,1.5\n104,-2\n101,0\n"
MATRIX = np.array([[100, 0.5], [103, 1.5], [104, -2], [101, 0]], np.float32)
Y = [1.5, 9.5, 14.0, 2.0]


def embedding(build, first: int = 100, width: int | None = 2) -> ModelProto:
    """A model that looks the code in column 0 up, counted from `first`, and adds column 1."""
    nodes = [
        build.node("Slice", "X zero one one", "code"),
        build.node("Sub", "code first", "place"),
        build.node("Cast", "place", "whole", to=TensorProto.INT64),
        build.node("Squeeze", "whole one", "index"),
        build.node("Gather", "effects index", "effect"),
        build.node("Slice", "X one two one", "a"),
        build.node("Add", "effect a", "y"),
    ]
    counts = {"zero": [0], "one": [1], "two": [2]}
    constants = {name: np.array(values) for name, values in counts.items()}
    proto: ModelProto = build(
        nodes,
        inputs=[build.input("X", ["n", width])],
        effects=EFFECTS,
        first=np.array(first, np.float32),
        **constants,
    )
    return proto


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(1)
    yield made
    made.close()


def predict(runner: InProcess, make: Any, model: ModelProto, rows: bytes = ROWS) -> Any:
    asked = PredictRequest(model=Model(content=model.SerializeToString()), table=Table(csv=rows))
    reply = runner.answer(Call(ServiceMethod.PREDICT, asked.SerializeToString()), make.host())
    return PredictResponse.FromString(reply.content)


@pytest.mark.parametrize("first", [0, 1])
def test_codes_from_0_or_1_are_made_up_where_other_numbers_are_refused(build, first: int) -> None:
    model = load(embedding(build, first).SerializeToString())

    rows = MATRIX - np.array([100 - first, 0], np.float32)
    assert model.predict({"X": rows}).ravel().tolist() == Y


@pytest.mark.parametrize("width", [2, None])
def test_a_model_that_takes_no_made_up_rows_is_tried_on_the_table(
    make, build, runner: InProcess, monkeypatch: pytest.MonkeyPatch, width: int | None
) -> None:
    monkeypatch.setattr(trial_rows, "_WIDTH_LIMIT", 64)
    model = embedding(build, width=width)
    with pytest.raises(ExplainError, match="made-up rows"):
        load(model.SerializeToString())

    assert list(predict(runner, make, model).values) == Y

    asked = ExplainRequest(
        model=Model(content=model.SerializeToString()),
        table=Table(csv=ROWS),
        methods=[MethodOptions(partial_dependence=PartialDependenceOptions())],
        plots=False,
    )
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), make.host())
    answer: Any = ExplainResponse.FromString(reply.content)
    first = answer.explanations[0].partial_dependence.curves[0]
    assert first.values[0] == pytest.approx(1.0)  # a is 0 on average
    assert [warning.code for warning in answer.warnings] == ["COLUMNS_BY_POSITION"]


def test_such_a_model_is_matched_with_a_table(make, build, runner: InProcess) -> None:
    content = embedding(build).SerializeToString()
    asked = DescribeTableRequest(model=Model(content=content), table=Table(csv=ROWS))

    reply = runner.answer(
        Call(ServiceMethod.DESCRIBE_TABLE, asked.SerializeToString()), make.host()
    )

    matching = DescribeTableResponse.FromString(reply.content).table.matching
    assert list(matching.feature_columns) == ["city", "a"]


def test_a_row_that_it_refuses_does_not_keep_others_from_being_tried(
    make, build, runner: InProcess
) -> None:
    """Row 1 has a code that is none; each row alone is predicted, or refused."""
    with pytest.raises(ExplainError, match="in Gather") as refused:
        predict(runner, make, embedding(build), ROWS.replace(b"103", b"999"))
    assert refused.value.reason is Reason.PREDICTION_FAILED

    with pytest.raises(ExplainError, match="rows of the table that were tried") as refused:
        predict(runner, make, embedding(build), b"city,a\n7,0\n8,1\n")
    assert refused.value.reason is Reason.UNSUPPORTED_MODEL


def test_a_worker_tries_it_on_the_rows_of_its_task(build) -> None:
    content = embedding(build).SerializeToString()
    job = pack_job(PredictionJob("RESPONSE", is_batched=True, limits=DEFAULT_LIMITS))
    task = pack_task([pack_rows({"X": MATRIX})])

    reply = PredictionComputer().compute(content, job, task, lambda: None)

    ((predicted, _seconds),) = unpack_reply(reply)
    assert predicted.ravel().tolist() == Y
