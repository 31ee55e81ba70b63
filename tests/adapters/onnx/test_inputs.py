"""Supported model inputs, and the errors for others."""

import numpy as np
import pytest
from onnx import TensorProto
from onnxplain_server.adapters.onnx import load, trial_rows
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input

X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]], np.float32)


def refusal(model):
    with pytest.raises(ExplainError) as refused:
        load(model.SerializeToString())
    assert refused.value.reason is Reason.UNSUPPORTED_MODEL
    return refused.value.message


@pytest.mark.parametrize(
    "type_",
    [
        *("float", "double", "float16", "bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
    ],
)
def test_a_matrix_of_any_number_type_is_taken(build, type_) -> None:
    kind = TensorProto.DataType.Value(type_.upper())
    content = build(
        [build.node("Cast", "X", "y", to=TensorProto.FLOAT)],
        inputs=[build.input("X", [None, 3], kind)],
    ).SerializeToString()

    model = load(content)

    assert model.inputs == (Input("X", type_, 3),)
    assert model.predict({"X": X.astype(build.dtype(kind))}).dtype == np.float32


def test_columns_of_words_and_numbers_are_fed_by_name(build) -> None:
    content = build(
        [
            build.node(
                "LabelEncoder",
                "city",
                "code",
                domain="ai.onnx.ml",
                keys_strings=["Bern", "Oslo"],
                values_floats=[10.0, 20.0],
                default_float=-1.0,
            ),
            build.node("Add", "code size", "y"),
        ],
        inputs=[
            build.input("city", [None, 1], TensorProto.STRING),
            build.input("size", ["n", 1], TensorProto.FLOAT),
        ],
    ).SerializeToString()
    cities = np.array([["Oslo"], ["Rome"], ["Bern"]], dtype=object)
    sizes = np.array([[1.0], [2.0], [3.0]], np.float32)

    model = load(content)

    assert model.inputs == (Input("city", "string", 1), Input("size", "float", 1))
    assert model.predict({"size": sizes, "city": cities}).tolist() == [[21.0], [1.0], [13.0]]


def test_a_category_that_the_model_refuses_does_not_keep_it_from_loading(build) -> None:
    """Trial rows cannot know the model's categories of whole numbers."""
    encode = build.node(
        "OneHotEncoder", "X", "hot", domain="ai.onnx.ml", cats_int64s=[17, 18], zeros=0
    )
    content = build(
        [encode, build.node("ReduceSum", "hot axis", "y", keepdims=0)],
        inputs=[build.input("X", [None, 1], TensorProto.INT64)],
        axis=np.array([1]),
    ).SerializeToString()
    model = load(content)

    assert model.predict({"X": np.array([[17], [18]])}).shape == (2, 2)
    with pytest.raises(ExplainError, match="OneHotEncoder") as failed:
        model.predict({"X": np.array([[17], [99]])})
    assert failed.value.reason is Reason.PREDICTION_FAILED


@pytest.mark.parametrize("shape", [[None, None], ["rows", "columns"], None])
def test_an_open_number_of_columns_stays_open(build, shape) -> None:
    content = build(
        [build.node("MatMul", "X w", "y")],
        inputs=[build.input("X", shape)],
        w=np.ones((3, 2), np.float32),
    ).SerializeToString()

    model = load(content)

    assert model.inputs == (Input("X", "float", None),)
    assert model.predict({"X": X}).tolist() == [[6.0, 6.0], [3.5, 3.5]]


def test_a_vector_is_one_column(build) -> None:
    content = build(
        [build.node("Neg", "X", "y")], inputs=[build.input("X", [None])]
    ).SerializeToString()

    model = load(content)

    assert model.inputs == (Input("X", "float", 1),)
    assert model.predict({"X": X[:, :1]}).tolist() == [[-1.0], [1.0]]


def test_an_input_with_a_value_of_its_own_is_none(cases) -> None:
    assert [each.name for each in load(cases["two_outputs"].content).inputs] == ["X"]


@pytest.mark.parametrize(
    ("shape", "found"),
    [([None, 3, 3], "(any, 3, 3)"), ([], "()"), ([5], "(5)")],
)
def test_other_shapes_are_refused_with_what_was_found_and_what_is_supported(
    build, shape, found
) -> None:
    message = refusal(build([build.node("Neg", "X", "y")], inputs=[build.input("X", shape)]))

    assert message.startswith(f"The model's input 'X' has the shape {found}.")
    assert "Supported are inputs of shape (rows, columns), (rows, 1) or (rows,), of type" in message


def test_several_matrices_are_taken(build) -> None:
    made = build(
        [build.node("Add", "A B", "y")],
        inputs=[build.input("A", [None, 3]), build.input("B", [None, 3])],
    )

    model = load(made.SerializeToString())

    assert [(each.name, each.width) for each in model.inputs] == [("A", 3), ("B", 3)]
    assert model.predict({"A": X, "B": X}).tolist() == (2 * X).tolist()


def test_complex_numbers_are_refused(build) -> None:
    message = refusal(
        build(
            [build.node("Identity", "X", "y")],
            inputs=[build.input("X", [None, 3], TensorProto.COMPLEX64)],
        )
    )

    assert message.startswith("The model's input 'X' has the type complex64.")


def test_a_model_without_inputs_is_refused(build) -> None:
    message = refusal(
        build([build.node("Identity", "c", "y")], inputs=[], c=np.ones((1, 1), np.float32))
    )

    assert message.startswith("The model has no inputs.")


def test_an_input_that_is_no_tensor_is_refused(build) -> None:
    model = build([build.node("Neg", "X", "y")])
    model.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = 1

    assert refusal(model).startswith("The model's input 'X' is no tensor.")


def test_a_number_of_columns_that_nothing_accepts_is_refused(
    build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rows, "_WIDTH_LIMIT", 64)
    message = refusal(
        build(
            [build.node("MatMul", "X w", "y")],
            inputs=[build.input("X", [None, None])],
            w=np.ones((65, 1), np.float32),
        )
    )

    assert "no number of columns up to 64 is accepted" in message
