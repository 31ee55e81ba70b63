"""In-process runner with a real model: messages in, messages out."""

from __future__ import annotations

import hashlib
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from onnx import TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
)
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions
from onnxplain.v1.firm_pb2 import FirmOptions
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.permutation_importance_pb2 import PermutationImportanceOptions
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.onnx import OnnxModel, load_described
from onnxplain_server.adapters.runner import in_process, loaded_models
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core import rows as core_rows
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, Call
from onnxplain_server.core.model import Description, Scale
from onnxplain_server.core.request import RequestFile, ServiceMethod
from onnxplain_server.wire.blobs import identify


def product_model() -> bytes:
    """A model that multiplies its two columns."""
    names = ("a", "b")
    graph = helper.make_graph(
        [helper.make_node("Mul", names, ["y"])],
        "product",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 1]) for n in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


pytestmark = pytest.mark.usefixtures("few_trees")

MODEL = product_model()
CSV = b"a,b\n0,0\n0,1\n1,0\n1,1\n"
STRENGTHS = MethodOptions(interactions=InteractionsOptions())
CURVES = MethodOptions(partial_dependence=PartialDependenceOptions())


def explain(
    runner: InProcess, host, request: ExplainRequest, blobs: Blobs | None = None
) -> ExplainResponse:
    return ExplainResponse.FromString(
        runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString(), blobs or {}), host
        ).content
    )


def request(**given) -> ExplainRequest:
    usual: dict[str, Any] = {
        "model": Model(content=MODEL),
        "table": Table(csv=CSV),
        "methods": [STRENGTHS],
        "engine": ExplainRequest.BLACK_BOX,  # a product of two columns is a sum of terms, too
    }
    return ExplainRequest(**(usual | given))


@pytest.mark.parametrize(
    "method",
    [
        STRENGTHS,
        CURVES,
        MethodOptions(individual_conditional_expectation=IndividualConditionalExpectationOptions()),
        MethodOptions(permutation_importance=PermutationImportanceOptions()),
        MethodOptions(feature_vectors=FeatureVectorsOptions(sentence_count=200)),
        MethodOptions(firm=FirmOptions()),
        MethodOptions(firm=FirmOptions(features=["a", "b", "a * b"], source="BOTH")),
        MethodOptions(firm=FirmOptions(estimator="SLOPE")),
    ],
    ids=lambda method: str(method.WhichOneof("method")),
)
def test_a_table_of_float32_has_the_answer_of_the_same_numbers_as_float64(
    make, runner: InProcess, method: MethodOptions
) -> None:
    """0.1 of float32 is another number than 0.1 of float64, so digits would tell them apart."""
    rows = np.random.default_rng(0).normal(size=(3, 500)).astype(np.float32)

    answers = [
        explain(
            runner,
            make.host(),
            request(table=arrow_of(rows.astype(kind)), methods=[method], target_column="target"),
        )
        for kind in (np.float32, np.float64)
    ]

    for answer in answers:
        answer.ClearField("receipt")
    assert answers[0] == answers[1]
    assert len(answers[0].explanations) == 1


def test_a_request_binds_its_table_once(
    make, runner: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Binding reads every column, also to check the model's consistency."""
    bind = Mock(wraps=core_rows.bind)
    monkeypatch.setattr("onnxplain_server.explain.sample.bind", bind)

    explain(runner, make.host(), request(methods=[STRENGTHS, CURVES]))

    assert bind.call_count == 1


def arrow_of(rows: np.ndarray) -> Table:
    table = pa.table(dict(zip(("a", "b", "target"), rows, strict=True)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return Table(arrow=sink.getvalue().to_pybytes())


def test_a_product_worked_by_hand_goes_all_the_way(make, runner: InProcess) -> None:
    """As in the tests of the method: 1/16 of interaction in 3/16."""
    answer = explain(runner, make.host(), request(methods=[STRENGTHS, CURVES]))

    strengths, curves = answer.explanations
    (pair,) = strengths.interactions.pairwise
    assert list(pair.features) == ["a", "b"]
    assert list(pair.values) == pytest.approx([1 / 3])
    assert list(curves.partial_dependence.curves[0].values) == [0, 0.5]


def test_the_receipt_names_what_the_numbers_depend_on(make, runner: InProcess) -> None:
    receipt = explain(runner, make.host(), request(seed=5)).receipt

    assert receipt.model_digest == "sha256:" + hashlib.sha256(MODEL).hexdigest()
    assert receipt.table_digest == "sha256:" + hashlib.sha256(CSV).hexdigest()
    assert receipt.seed == 5
    assert receipt.row_count == 4
    assert receipt.server_version
    assert set(receipt.library_versions) >= {"numpy", "onnx", "onnxruntime", "scikit-learn"}
    assert receipt.library_versions["numpy"] == np.__version__
    assert receipt.elapsed.ToTimedelta().total_seconds() > 0


def test_the_answer_and_the_description_are_of_the_same_model(make, runner: InProcess) -> None:
    serialised = DescribeModelRequest(model=Model(content=MODEL)).SerializeToString()

    described = DescribeModelResponse.FromString(
        runner.answer(Call(ServiceMethod.DESCRIBE, serialised), make.host()).content
    )

    assert [i.name for i in described.model.inputs] == ["a", "b"]
    assert explain(runner, make.host(), request()).model == described.model


def test_a_model_is_loaded_once_while_it_is_kept(make, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []

    def counted(content: bytes, scale: Scale, *limits, **rows) -> tuple[OnnxModel, Description]:
        loads.append(scale)
        return load_described(content, scale, *limits, **rows)

    monkeypatch.setattr(loaded_models, "load_described", counted)
    runner = InProcess(1, model_count=1)

    for _ in range(2):
        explain(runner, make.host(), request())
    assert len(loads) == 1
    runner.close()


@pytest.mark.parametrize(
    ("given", "reason", "field"),
    [
        ({"model": None, "engine": None}, Reason.INVALID_REQUEST, "model"),
        ({"table": None}, Reason.INVALID_REQUEST, "table"),
        ({"methods": [MethodOptions()]}, Reason.INVALID_REQUEST, "methods[0]"),
        ({"model": Model(content=b"no model")}, Reason.INVALID_MODEL, "model"),
        ({"table": Table(csv=b"")}, Reason.INVALID_TABLE, "table.csv"),
        ({"table": Table(csv=b"a,c\n1,2\n3,4\n")}, Reason.MISSING_COLUMN, "feature_columns"),
        ({"table": Table(csv=b"a,b\n1,2\n")}, Reason.EMPTY_TABLE, "table"),
        ({"table": Table(csv=b"a,b\n1,x\n2,y\n")}, Reason.WRONG_TYPE, "table"),
        ({"table": Table(csv=b"a,b\n1,\n2,\n")}, Reason.INVALID_TABLE, "table"),
    ],
)
def test_bad_input_is_refused_with_its_reason_and_field(
    make, runner: InProcess, given: dict[str, Any], reason: Reason, field: str
) -> None:
    with pytest.raises(ExplainError) as refused:
        explain(runner, make.host(), request(**given))

    assert (refused.value.reason, refused.value.field) == (reason, field)


def test_predictions_beyond_float32_are_an_error_that_names_the_rows(
    make, runner: InProcess
) -> None:
    table = Table(csv=b"a,b\n1,1\n1e30,1e30\n2,3\n")

    with pytest.raises(ExplainError, match=r"row 1 \(") as refused:
        explain(runner, make.host(), request(table=table))

    assert refused.value.reason is Reason.NON_FINITE_PREDICTION


def test_a_request_whose_caller_has_gone_is_not_begun(
    make, runner: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Any] = []
    monkeypatch.setattr(in_process, "explain", lambda *given: loads.append(given))

    with pytest.raises(ExplainError, match="the caller has gone"):
        explain(runner, make.host(steps=0), request())

    assert loads == []


def test_numbers_found_in_the_cache_are_the_same_numbers(make, runner: InProcess) -> None:
    host = make.host()
    first = explain(runner, host, request(methods=[STRENGTHS, CURVES]))

    again = explain(runner, host, request(methods=[STRENGTHS, CURVES]))

    assert again.explanations == first.explanations
    assert (again.receipt.predicted_row_count, again.receipt.cache_miss_count) == (0, 0)
    assert first.receipt.predicted_row_count > 0


def test_equal_tables_of_different_formats_share_their_numbers(make, runner: InProcess) -> None:
    host = make.host()
    a, b = ({"name": "a", "numbers": [0, 0, 1, 1]}, {"name": "b", "numbers": [0, 1, 0, 1]})
    explain(runner, host, request())

    later = explain(runner, host, request(table=Table(columns={"columns": [a, b]})))

    assert later.receipt.predicted_row_count == 0


def test_uploaded_files_give_the_answer_of_files_sent_along(make, runner: InProcess) -> None:
    blobs = {identify(MODEL): RequestFile("onnx", MODEL), identify(CSV): RequestFile("csv", CSV)}
    named = request(model=Model(id=identify(MODEL)), table=Table(id=identify(CSV)))

    actual = explain(runner, make.host(), named, blobs)

    sent = explain(runner, make.host(), request())
    assert actual.explanations == sent.explanations
    assert actual.receipt.model_digest == sent.receipt.model_digest
    assert actual.receipt.table_digest == sent.receipt.table_digest


@pytest.mark.parametrize(
    ("named", "field"),
    [
        ({"model": Model(id=identify(MODEL))}, "model.id"),
        ({"table": Table(id=identify(CSV))}, "table.id"),
    ],
)
def test_a_file_that_is_not_there_is_named(
    make, runner: InProcess, named: dict[str, Any], field: str
) -> None:
    with pytest.raises(ExplainError) as caught:
        explain(runner, make.host(), request(**named))

    assert (caught.value.reason, caught.value.field) == (Reason.BLOB_NOT_FOUND, field)
    assert "upload it" in caught.value.message
