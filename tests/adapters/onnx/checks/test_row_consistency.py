"""Row consistency: models that answer the same row differently are detected."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.onnx.checks.row_consistency import Inconsistency, compare, row_names
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import RequestFile, ServiceMethod
from onnxplain_server.wire.blobs import identify

ALWAYS_THE_SAME = "neg", "declared_rows", "turned_row", "first_row"


def models(build) -> dict[str, Any]:
    """One of each kind."""
    axis, yes = np.array([0]), np.array(True)
    half = np.array(0.5, np.float32)
    noise = [build.node("RandomNormalLike", "X", "r", seed=1.0), build.node("Add", "X r", "y")]
    drop = [build.node("Dropout", "X half yes", "y")]
    mean = [build.node("ReduceMean", "X", "m", axes=[0]), build.node("Sub", "X m", "y")]
    sum_ = [build.node("CumSum", "X axis", "y")]
    products = [build.node("Transpose", "X", "t"), build.node("MatMul", "X t", "p")]
    square = [*products, build.node("Identity", "p", "y")]
    flat = [*products, build.node("Reshape", "p minus", "y")]
    attend = [build.node("Softmax", "p", "shares"), build.node("MatMul", "shares X", "y")]
    pool = [build.node("ReduceMax", "X", "y", axes=[0])]
    turned = [build.node("Softmax", "X", "s", axis=0), build.node("Transpose", "s", "y")]
    one_column = {"inputs": [build.input("X", ["N", 1])]}
    return {
        "noise": build(noise),
        "drop": build(drop, half=half, yes=yes),
        "mean": build(mean),
        "running_sum": build(sum_, axis=np.array(0)),
        "mean_of_three": build(mean, inputs=[build.input("X", [3, 3])]),
        "products": build(square, inputs=[build.input("X", ["batch", 3])]),
        "products_of_four": build(square, inputs=[build.input("X", [4, 3])]),
        "flat_products": build(flat, minus=np.array([-1])),
        "attention": build([*products, *attend]),
        "largest": build(pool),
        "turned": build(turned, **one_column),
        "softmax": build([build.node("Softmax", "X", "y", axis=0)]),
        "turned_row": build([build.node("Transpose", "X", "y")], **one_column),
        "first_row": build([build.node("Slice", "X zero one", "y")], zero=axis, one=axis + 1),
        "neg": build([build.node("Neg", "X", "y")]),
        "declared_rows": build(mean, inputs=[build.input("X", [1, 3])], axis=axis),
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("noise", "it draws random numbers (RandomNormalLike)."),
        ("drop", "the same rows got different answers in two calls, by up to"),
        ("mean", "its answer for a row depends on the rows beside it, by up to"),
        ("running_sum", "its answer for a row depends on the rows beside it, by up to"),
        ("softmax", "its answer for a row depends on the rows beside it, by up to"),
        ("attention", "its answer for a row depends on the rows beside it, by up to"),
        ("products", "its answer for 6 rows, of the shape (6, 6), is not made of one for each row"),
        ("products_of_four", "its answer for a row depends on the rows before and after it"),
        ("flat_products", "its answer for 6 rows, of the shape (36,), is not made of"),
        ("largest", "its answer for 6 rows, of the shape (1, 3), is not made of one for each row"),
        ("turned", "its answer for 6 rows, of the shape (1, 6), is not made of one for each row"),
        ("mean_of_three", "its answer for a row depends on the rows before and after it, by up to"),
    ],
)
def test_a_model_that_is_no_function_of_the_row_is_told_why(build, name: str, why: str) -> None:
    model = load(models(build)[name].SerializeToString())

    assert model.inconsistency.startswith(f"The model is not a function of the row: {why}")
    named = "(counted from 0) of 6 made-up rows."
    assert name == "noise" or "shape" in why or model.inconsistency.endswith(named)
    assert "INCONSISTENT_MODEL" in [note.code for note in model.notes]
    assert "cannot evaluate several rows" not in " ".join(note.message for note in model.notes)


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


ROWS = b"a,b,c\n1,2,3\n4,5,6\n7,8,10\n"


def request(model, rows: bytes = ROWS, **overrides) -> bytes:
    method = MethodOptions(partial_dependence=PartialDependenceOptions())
    content = model.SerializeToString()
    table = Table(csv=rows)
    serialised = ExplainRequest(
        model=Model(content=content), table=table, methods=[method], plots=False, **overrides
    )
    return serialised.SerializeToString()


def test_such_a_model_is_refused_with_the_reason(make, build, runner: InProcess) -> None:
    with pytest.raises(ExplainError, match="draws random numbers") as refused:
        runner.answer(Call(ServiceMethod.EXPLAIN, request(models(build)["noise"])), make.host())

    assert refused.value.reason is Reason.INCONSISTENT_MODEL
    assert "allow_inconsistent_model" in refused.value.message


def test_where_it_is_allowed_a_warning_tells_and_nothing_is_cached(
    make, build, runner: InProcess
) -> None:
    host = make.host()
    serialised = request(models(build)["noise"], allow_inconsistent_model=True)

    answer: Any = ExplainResponse.FromString(
        runner.answer(Call(ServiceMethod.EXPLAIN, serialised), host).content
    )

    assert [warning.code for warning in answer.warnings] == [
        "INCONSISTENT_MODEL",
        "COLUMNS_BY_POSITION",
    ]
    assert (host.values, host.round_trips) == ({}, 0)
    assert host.progress


def neighbours(build, limit: float):
    """A model that adds the mean of what rows have beyond a limit: of all rows of the call."""
    nodes = [
        build.node("Abs", "X", "size"),
        build.node("Sub", "size limit", "over"),
        build.node("Relu", "over", "part"),
        build.node("ReduceMean", "part", "m", axes=[0]),
        build.node("Add", "X m", "y"),
    ]
    return build(nodes, limit=np.array(limit, np.float32))


def test_rows_of_the_table_count_for_more_than_rows_made_up(make, build, runner: InProcess) -> None:
    """Made-up rows go beyond 50, those of the table do not."""
    model = neighbours(build, 50.0)
    assert "made-up rows" in load(model.SerializeToString()).inconsistency
    host = make.host()

    answer: Any = ExplainResponse.FromString(
        runner.answer(Call(ServiceMethod.EXPLAIN, request(model)), host).content
    )

    warning, _ = answer.warnings
    assert warning.code == "INCONSISTENT_ELSEWHERE"
    assert "depends on the rows beside it, by up to" in warning.message
    assert warning.message.startswith("On 3 rows of the table, the model gives each row one answer")
    assert host.values  # its numbers may be cached
    first = answer.explanations[0].partial_dependence.curves[0]
    # y is (a, b, c): only the first output follows a.
    assert first.values[0] == pytest.approx(first.grid[0].numbers[0])


def test_the_size_is_told_with_the_rows_of_the_table(make, build, runner: InProcess) -> None:
    """Beside 0 and 30, row 1 has 130 - 100 more: a third of it in the mean, all of it alone."""
    rows = b"a,b,c\n0,1,2\n130,3,4\n30,5,6\n"

    with pytest.raises(ExplainError) as refused:
        runner.answer(
            Call(ServiceMethod.EXPLAIN, request(neighbours(build, 100.0), rows)), make.host()
        )

    assert refused.value.reason is Reason.INCONSISTENT_MODEL
    assert refused.value.message.startswith(
        "The model is not a function of the row: its answer for a row depends on the rows beside "
        "it, by up to 20 where answers reach 1.6e+02, in rows 0, 1 and 2 (counted from 0) of the "
        "table, of 3 rows of it that were tried. Fix the model, or set allow_inconsistent_model"
    )


def test_the_check_of_one_request_is_not_taken_for_another(make, build, runner: InProcess) -> None:
    """Tables by id, whose checks are remembered: of other rows, weights and columns, and again."""
    content = neighbours(build, 50.0).SerializeToString()
    columns = b"a,b,c,far,weight\n0,1,2,0,1\n1,3,4,130,0\n3,5,6,30,1\n"
    near, far = columns.replace(b"130", b"13"), columns

    def is_refused(table: bytes, third: str = "far", **options: Any) -> bool:
        serialised = ExplainRequest(
            model=Model(id=identify(content)),
            table=Table(id=identify(table)),
            methods=[MethodOptions(partial_dependence=PartialDependenceOptions())],
            feature_columns=["a", "b", third],
            plots=False,
            **options,
        ).SerializeToString()
        blobs = {
            identify(content): RequestFile("onnx", content),
            identify(table): RequestFile("csv", table, "table.id"),
        }
        try:
            runner.answer(Call(ServiceMethod.EXPLAIN, serialised, blobs), make.host())
        except ExplainError as error:
            return error.reason is Reason.INCONSISTENT_MODEL
        return False

    for _ in range(2):
        assert not is_refused(near)
        assert is_refused(far)
        assert not is_refused(far, weight_column="weight")
        assert not is_refused(far, third="c")


def bytes_with_padding(build):
    """A model of bytes, as that of magika: whole numbers, exact where none is 0 or 1.

    Made-up rows of whole numbers have no others.
    """
    nodes = [
        build.node("Cast", "X", "x", to=TensorProto.FLOAT),
        build.node("Sub", "two x", "below"),
        build.node("Relu", "below", "part"),
        build.node("ReduceMean", "part", "m", axes=[0]),
        build.node("Add", "x m", "y"),
    ]
    inputs = [build.input("X", ["N", 3], TensorProto.INT32)]
    return build(nodes, inputs=inputs, two=np.array(2.0, np.float32))


def test_a_model_of_whole_numbers_is_tried_on_the_numbers_of_the_caller(
    make, build, runner: InProcess
) -> None:
    model = bytes_with_padding(build)
    assert "made-up rows" in load(model.SerializeToString()).inconsistency

    answer: Any = ExplainResponse.FromString(
        runner.answer(
            Call(ServiceMethod.EXPLAIN, request(model, b"a,b,c\n7,80,256\n9,32,10\n65,2,3\n")),
            make.host(),
        ).content
    )
    assert answer.warnings[0].code == "INCONSISTENT_ELSEWHERE"

    # The verdict belongs to the rows: another table of the same model, which is loaded, is refused.
    with pytest.raises(ExplainError, match=r"rows 0 and 1 .* of 2 rows of it that were tried"):
        runner.answer(
            Call(ServiceMethod.EXPLAIN, request(model, b"a,b,c\n7,80,0\n9,1,10\n")), make.host()
        )


def test_a_model_that_made_up_rows_do_not_find_out_is_found_by_the_tables(
    make, build, runner: InProcess
) -> None:
    model = neighbours(build, 1e5)
    assert load(model.SerializeToString()).inconsistency == ""
    rows = b"a,b,c\n0,1,2\n200000,3,4\n30,5,6\n"

    with pytest.raises(ExplainError, match="of the table") as refused:
        runner.answer(Call(ServiceMethod.EXPLAIN, request(model, rows)), make.host())

    assert refused.value.reason is Reason.INCONSISTENT_MODEL


def test_rows_that_are_all_equal_excuse_no_model(make, build, runner: InProcess) -> None:
    rows = b"a,b,c\n1,2,3\n1,2,3\n1,2,3\n"

    with pytest.raises(ExplainError, match="made-up rows") as refused:
        runner.answer(
            Call(ServiceMethod.EXPLAIN, request(models(build)["mean"], rows)), make.host()
        )

    assert refused.value.reason is Reason.INCONSISTENT_MODEL


@pytest.mark.parametrize(
    ("kind", "difference", "differs"),
    [
        (np.float16, 2e-3, False),  # two roundings of a half
        (np.float16, 2e-2, True),
        (np.float32, 5e-5, False),  # another order of additions
        (np.float32, 1e-3, True),
        (np.float64, 1e-3, True),
    ],
)
def test_differences_within_the_rounding_of_the_outputs_type_are_none(
    kind, difference: float, differs: bool
) -> None:
    answers = np.array([[0.0], [0.5], [1.0]], dtype=kind)
    others = answers.copy()
    others[2] -= kind(difference)

    inconsistency = compare([others], [answers], "why")

    assert (inconsistency is not None) is differs
    if inconsistency:
        assert inconsistency.rows == (2,)
        assert inconsistency.amount == pytest.approx(difference, rel=0.05)
        assert inconsistency.scale == 1


def test_two_calls_may_differ_by_a_rounding_and_no_more() -> None:
    answers = np.array([[1.0], [3.0]], dtype=np.float32)

    assert compare([np.nextafter(answers, 9)], [answers], "why", tolerance=0.0) is None
    assert compare([answers * (1 + 1e-5)], [answers], "why", tolerance=0.0) is not None


def test_labels_and_missing_numbers_must_be_the_same() -> None:
    labels = np.array([1, 2, 3])
    numbers = np.array([[1.0], [np.nan], [np.inf]])

    assert compare([labels, numbers], [labels, numbers], "why") is None
    assert compare([np.array([1, 2, 4])], [labels], "why") == Inconsistency("why", (2,), 0.0, 0.0)
    inconsistency = compare([np.array([[1.0], [0.0], [np.inf]])], [numbers], "why")
    assert inconsistency == Inconsistency("why", (1,), np.inf, 1.0)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([4], "row 4 (counted from 0) of x"),
        ([4, 7], "rows 4 and 7 (counted from 0) of x"),
        (list(range(8)), "rows 0, 1, 2, 3, 4 and 3 more (counted from 0) of x"),
    ],
)
def test_rows_are_named_the_first_few(rows: list[int], text: str) -> None:
    assert row_names(rows, "x") == text
