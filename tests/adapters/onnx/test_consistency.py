"""Models that answer the same row differently are found out."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.in_process import InProcess
from onnxplain_server.adapters.onnx import load
from onnxplain_server.errors import ExplainError, Reason

ALWAYS_THE_SAME = "neg", "declared_rows"


def models(build) -> dict[str, Any]:
    """One of each kind."""
    axis, yes = np.array([0]), np.array(True)
    half = np.array(0.5, np.float32)
    noise = [build.node("RandomNormalLike", "X", "r", seed=1.0), build.node("Add", "X r", "y")]
    drop = [build.node("Dropout", "X half yes", "y")]
    mean = [build.node("ReduceMean", "X", "m", axes=[0]), build.node("Sub", "X m", "y")]
    sum_ = [build.node("CumSum", "X axis", "y")]
    return {
        "noise": build(noise),
        "drop": build(drop, half=half, yes=yes),
        "mean": build(mean),
        "running_sum": build(sum_, axis=np.array(0)),
        "mean_of_three": build(mean, inputs=[build.input("X", [3, 3])]),
        "neg": build([build.node("Neg", "X", "y")]),
        "declared_rows": build(mean, inputs=[build.input("X", [1, 3])], axis=axis),
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("noise", "it draws random numbers (RandomNormalLike)."),
        ("drop", "the same rows got different answers in two calls."),
        ("mean", "its answer for a row depends on the rows beside it."),
        ("running_sum", "its answer for a row depends on the rows beside it."),
        ("mean_of_three", "its answer for a row depends on the rows before and after it."),
    ],
)
def test_a_model_that_is_no_function_of_the_row_is_told_why(build, name: str, why: str) -> None:
    model = load(models(build)[name].SerializeToString())

    assert model.inconsistency == f"The model is not a function of the row: {why}"
    assert "INCONSISTENT_MODEL" in [note.code for note in model.notes]


@pytest.mark.parametrize("name", ALWAYS_THE_SAME)
def test_a_function_of_the_row_is_not_suspected(build, name: str) -> None:
    model = load(models(build)[name].SerializeToString())

    assert model.inconsistency == ""
    assert "INCONSISTENT_MODEL" not in [note.code for note in model.notes]


def test_a_random_part_that_no_output_needs_does_not_matter(build) -> None:
    made = build([build.node("RandomNormalLike", "X", "r"), build.node("Neg", "X", "y")])

    assert load(made.SerializeToString()).inconsistency == ""


def test_a_random_number_is_found_inside_a_branch(build) -> None:
    from onnx import helper  # noqa: PLC0415 - next to its one use

    result = [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)]
    branch = helper.make_graph([build.node("RandomNormalLike", "X", "t")], "b", [], result)
    node = build.node("If", "c", "y", then_branch=branch, else_branch=branch)

    assert (
        "RandomNormalLike"
        in load(build([node], c=np.array(True)).SerializeToString()).inconsistency
    )


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(1)
    yield made
    made.close()


def request(model, **given) -> bytes:
    method = MethodOptions(partial_dependence=PartialDependenceOptions())
    content = model.SerializeToString()
    table = Table(csv=b"a,b,c\n1,2,3\n4,5,6\n7,8,10\n")
    asked = ExplainRequest(
        model=Model(content=content), table=table, methods=[method], plots=False, **given
    )
    return asked.SerializeToString()


def test_such_a_model_is_refused_with_the_reason(make, build, runner: InProcess) -> None:
    with pytest.raises(ExplainError, match="draws random numbers") as refused:
        runner.explain(request(models(build)["noise"]), {}, make.host())

    assert refused.value.reason is Reason.INCONSISTENT_MODEL
    assert "allow_inconsistent_model" in refused.value.message


def test_where_it_is_allowed_a_warning_tells_and_nothing_is_cached(
    make, build, runner: InProcess
) -> None:
    host = make.host()
    asked = request(models(build)["noise"], allow_inconsistent_model=True)

    answer: Any = ExplainResponse.FromString(runner.explain(asked, {}, host))

    assert [warning.code for warning in answer.warnings] == ["INCONSISTENT_MODEL"]
    assert (host.values, host.round_trips) == ({}, 0)
    assert host.progress
