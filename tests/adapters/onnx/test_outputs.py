"""Model outputs that become prediction columns, and their names."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.onnx.analysis.outputs import read_parts
from onnxplain_server.adapters.onnx.read import operators, read
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import DEFAULT_LIMITS

ML = "ai.onnx.ml"
X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]], np.float32)
WORDS = ["no", "yes"]


def refusal(model):
    with pytest.raises(ExplainError) as refused:
        load(model.SerializeToString())
    assert refused.value.reason is Reason.UNSUPPORTED_MODEL
    return refused.value.message


def word_of_sign(build):
    """Nodes that answer "yes" where the first column is positive."""
    return [
        build.node("Slice", "X zero one one", "first"),
        build.node("Sign", "first", "sign"),
        build.node(
            *("LabelEncoder", "sign", "word"),
            domain=ML,
            keys_floats=[-1.0, 1.0],
            values_strings=WORDS,
            default_string="no",
        ),
    ]


BOUNDS = {"zero": np.array([0]), "one": np.array([1])}


def test_words_are_one_hot_over_the_classes(build) -> None:
    model = load(
        build(word_of_sign(build), {"word": TensorProto.STRING}, **BOUNDS).SerializeToString()
    )

    assert model.output_names == ("no", "yes")
    assert [note.code for note in model.notes] == ["LABELS_ONLY"]
    assert model.predict({"X": X}).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert model.predict({"X": X}).dtype == np.float32


def test_a_label_beside_numbers_is_ignored_except_for_its_classes(build) -> None:
    nodes = [*word_of_sign(build), build.node("Slice", "X one three one", "y")]
    outputs = {"word": TensorProto.STRING, "y": TensorProto.FLOAT}
    model = load(build(nodes, outputs, three=np.array([3]), **BOUNDS).SerializeToString())

    assert model.output_names == ("no", "yes")
    assert model.notes == ()
    assert model.predict({"X": X}).tolist() == X[:, 1:].tolist()


def test_one_probability_of_two_classes_is_named_after_its_output(build) -> None:
    nodes = [*word_of_sign(build), build.node("Slice", "X one two one", "chance")]
    outputs = {"word": TensorProto.STRING, "chance": TensorProto.FLOAT}

    model = load(build(nodes, outputs, two=np.array([2]), **BOUNDS).SerializeToString())

    assert model.output_names == ("chance",)


def test_classes_are_read_from_the_constant_that_an_arg_max_looks_up(build) -> None:
    content = build(
        [
            build.node("ArgMax", "X", "best", axis=1),
            build.node("ArrayFeatureExtractor", "classes best", "found", domain=ML),
            build.node("Reshape", "found flat", "label"),
        ],
        {"label": TensorProto.STRING},
        classes=np.array([b"a", b"b", b"c"], dtype=object),
        flat=np.array([-1]),
    ).SerializeToString()

    model = load(content)

    assert model.output_names == ("a", "b", "c")
    assert model.predict({"X": X}).tolist() == [[0.0, 0.0, 1.0]] * 2


def test_labels_that_cannot_be_known_are_refused(build) -> None:
    message = refusal(
        build([build.node("ArgMax", "X", "best", axis=1)], {"best": TensorProto.INT64})
    )

    assert message.startswith("The model gives only labels, 'best' (int64)")
    assert "Export it with its probabilities or scores." in message


def test_a_label_outside_the_classes_is_an_error_and_no_row_of_zeros(build) -> None:
    sign = word_of_sign(build)[:2]
    encode = build.node(
        *("LabelEncoder", "sign", "word"),
        domain=ML,
        keys_floats=[-1.0, 0.0],
        values_strings=WORDS,
        default_string="maybe",
    )
    model = load(build([*sign, encode], {"word": TensorProto.STRING}, **BOUNDS).SerializeToString())

    with pytest.raises(ExplainError, match="not among its classes") as failed:
        model.predict({"X": X})
    assert failed.value.reason is Reason.PREDICTION_FAILED


def test_labels_of_several_parts_say_which_output_they_belong_to(build) -> None:
    """Two maps of the same classes."""
    labels = {"domain": ML, "classlabels_strings": ["a", "b", "c"]}
    model = build([build.node("ZipMap", "X", "p", **labels), build.node("Neg", "X", "n"),
                   build.node("ZipMap", "n", "q", **labels)])  # fmt: skip
    del model.graph.output[:]
    for name in ("p", "q"):
        map_type = model.graph.output.add(name=name).type.sequence_type.elem_type.map_type
        map_type.key_type = TensorProto.STRING
        map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT

    loaded = load(model.SerializeToString())

    assert loaded.output_names == ("p_a", "p_b", "p_c", "q_a", "q_b", "q_c")
    assert loaded.predict({"X": X}).tolist() == np.hstack([X, -X]).tolist()


def test_outputs_without_a_declared_type_are_taken_by_what_they_are(build) -> None:
    model = build([build.node("Neg", "X", "y")])
    model.graph.output[0].ClearField("type")

    assert load(model.SerializeToString()).output_names == ("y_0", "y_1", "y_2")


def test_columns_of_an_output_are_told_from_an_output_of_their_name(build) -> None:
    """An expression over `y_0` took the last one in silence."""
    nodes = [build.node("Neg", "X", "y"), build.node("ReduceMax", "X", "y_0", axes=[1])]
    model = build(nodes, {"y": None, "y_0": None})

    assert load(model.SerializeToString()).output_names == ("y[0]", "y[1]", "y[2]", "y_0")


def test_a_declared_shape_that_lies_is_not_believed(build) -> None:
    model = build([build.node("Neg", "X", "y")])
    for size in (1, 9):
        model.graph.output[0].type.tensor_type.shape.dim.add(dim_value=size)

    loaded = load(model.SerializeToString())

    assert loaded.predict({"X": X}).shape == (2, 3)
    assert loaded.notes == ()


def test_other_outputs_are_refused_with_what_was_found_and_what_is_supported(build) -> None:
    sequence = build([build.node("SplitToSequence", "X", "y", axis=1)])
    sequence.graph.output[0].type.sequence_type.elem_type.tensor_type.elem_type = 1
    cube = build([build.node("Unsqueeze", "X axis", "y")], axis=np.array([1]))

    assert refusal(sequence).startswith("The model gives 'y' (sequence). Supported are float")
    assert refusal(cube).startswith("The model's output 'y' has 3 dimensions. Supported are")


def test_half_precision_becomes_float_in_vectors_too(build) -> None:
    nodes = [
        build.node("ReduceSum", "X one", "total", keepdims=0),
        build.node("Cast", "total", "y", to=TensorProto.FLOAT16),
    ]
    model = load(build(nodes, {"y": TensorProto.FLOAT16}, **BOUNDS).SerializeToString())

    answer = model.predict({"X": X})

    assert answer.tolist() == [[6.0], [3.5]]
    assert answer.dtype == np.float32


def test_what_the_prediction_does_not_need_is_not_computed(cases) -> None:
    graph, _ = read(cases["sklearn_network_3class"].content, DEFAULT_LIMITS)

    cut = graph.cut(part.tensor for part in read_parts(graph))

    left_out = {"ArgMax", "Reshape", "ai.onnx.ml:ArrayFeatureExtractor"}
    assert set(operators(graph.model)) - set(operators(cut)) == left_out


def test_what_a_branch_takes_from_outside_is_kept(build) -> None:
    """The nodes that an output does not need are left out; a branch's needs are its own too."""
    value = helper.make_tensor_value_info("chosen", TensorProto.FLOAT, None)
    branches = {
        f"{side}_branch": helper.make_graph(
            [build.node("Neg", "doubled", "chosen")], side, [], [value]
        )
        for side in ("then", "else")
    }
    nodes = [
        build.node("Add", "X X", "doubled"),
        build.node("If", "always", "y", **branches),
        build.node("ArgMax", "X", "label", axis=1),
    ]
    outputs = {"label": TensorProto.INT64, "y": TensorProto.FLOAT}
    content = build(nodes, outputs, always=np.array(True)).SerializeToString()

    assert load(content).predict({"X": X}).tolist() == (-2 * X).tolist()
