"""Error texts for broken models and rows: they name the fault, and disclose nothing."""

import re
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnxplain_server.adapters.onnx import describe, load
from onnxplain_server.adapters.onnx.faults import cause
from onnxplain_server.core.errors import ExplainError, Reason

X = np.ones((2, 3), np.float32)


def is_presentable(message: str) -> bool:
    """Check that a text is one short line that discloses nothing about this machine."""
    private = ("site-packages", "onnxruntime_src", "/home", "Traceback", str(Path.cwd()))
    return message.isprintable() and len(message) < 500 and not any(p in message for p in private)


def refused(content):
    with pytest.raises(ExplainError) as error:
        load(content)
    assert is_presentable(error.value.message)
    return error.value.reason, error.value.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The model is empty: it has 0 bytes."),
        (b"not a model", "The 11 bytes are no ONNX model, or only a part of one."),
        (b"PK\x03\x04" + bytes(60), "The 64 bytes are no ONNX model, but a ZIP archive."),
        (b"\x08\x08", "The bytes hold no ONNX graph with nodes and outputs."),
    ],
)
def test_bytes_that_are_no_model(content, message) -> None:
    reason, said = refused(content)

    assert (reason, said.startswith(message)) == (Reason.INVALID_MODEL, True)


@pytest.mark.parametrize("name", ["xgboost_3class", "sklearn_linear", "network_float"])
def test_a_truncated_model_is_refused_wherever_it_ends(cases, name) -> None:
    content = cases[name].content
    for end in range(1, len(content), max(1, len(content) // 40)):
        assert refused(content[:end])[0] in {Reason.INVALID_MODEL, Reason.UNSUPPORTED_MODEL}


def test_an_unknown_operator_is_named(build) -> None:
    reason, message = refused(build([build.node("Frobnicate", "X", "y")]).SerializeToString())

    assert reason is Reason.UNSUPPORTED_MODEL
    assert message.startswith("The model uses the operator 'Frobnicate', but ONNX has no such")


def test_an_operator_of_an_unknown_domain_is_named(build) -> None:
    node = build.node("Frobnicate", "X", "y", domain="my.own")

    reason, message = refused(build([node]).SerializeToString())

    assert reason is Reason.UNSUPPORTED_MODEL
    assert "'my.own:Frobnicate', but domain 'my.own' is not available" in message


def test_an_unknown_operator_inside_a_branch_is_named(build) -> None:
    branch = helper.make_graph(
        [build.node("Frobnicate", "X", "t")],
        "branch",
        [],
        [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)],
    )
    node = build.node("If", "c", "y", then_branch=branch, else_branch=branch)

    assert "'Frobnicate'" in refused(build([node], c=np.array(True)).SerializeToString())[1]


def test_an_operator_without_a_kernel_for_its_type_is_named(build) -> None:
    """ONNX has Gelu for bfloat16; the runtime has not."""
    nodes = [
        build.node("Cast", "X", "half", to=TensorProto.BFLOAT16),
        build.node("Softplus", "half", "soft"),
        build.node("Cast", "soft", "y", to=TensorProto.FLOAT),
    ]

    reason, message = refused(build(nodes, opset=22).SerializeToString())

    assert reason is Reason.UNSUPPORTED_MODEL
    assert "Softplus" in message


def test_an_opset_that_does_not_exist_is_an_error_of_the_model(build) -> None:
    reason, _ = refused(build([build.node("Neg", "X", "y")], opset=0).SerializeToString())

    assert reason is Reason.INVALID_MODEL


def test_trees_that_are_written_as_doubles_are_told_how_to_write_them(build) -> None:
    """As skl2onnx writes them for inputs of doubles."""
    tree = build.node(
        "TreeEnsembleRegressor",
        "X",
        "y",
        domain="ai.onnx.ml",
        name="TreeEnsembleRegressor",
        nodes_treeids=[0],
        nodes_nodeids=[0],
        nodes_featureids=[0],
        nodes_modes=["LEAF"],
        nodes_values=[0.0],
        nodes_truenodeids=[0],
        nodes_falsenodeids=[0],
        target_treeids=[0],
        target_nodeids=[0],
        target_ids=[0],
        target_weights=[1.0],
        n_targets=1,
    )
    model = build([tree])
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE

    reason, message = refused(model.SerializeToString())

    assert reason is Reason.INVALID_MODEL
    assert "FloatTensorType" in message


@pytest.mark.parametrize(
    ("domain", "version", "advice"),
    [
        ("", 99, r"opset 99 of ai\.onnx, .* opsets up to (\d+)\. .* target_opset=\1\."),
        ("ai.onnx.ml", 9, r"opset 9 of ai\.onnx\.ml, .* to (\d+)\. .*={'ai\.onnx\.ml': \1}\."),
        ("com.microsoft", 7, r"opset 7 of com\.microsoft, .* opsets up to 1\. "),
        ("IR", 99, r"IR version 99, .* versions up to (\d+)\. .* ir_version to \1 "),
    ],
)
def test_a_model_newer_than_the_runtime_is_told_what_to_export(
    build, domain: str, version: int, advice: str
) -> None:
    model = build([build.node("Neg", "X", "y")])
    if domain == "IR":
        model.ir_version = version
    else:
        kept = [entry for entry in model.opset_import if entry.domain != domain]
        del model.opset_import[:]
        model.opset_import.extend([*kept, helper.make_opsetid(domain, version)])

    reason, message = refused(model.SerializeToString())

    assert reason is Reason.UNSUPPORTED_MODEL
    assert re.search(advice, message)
    assert onnxruntime.__version__ in message


def test_an_operator_of_an_opset_to_come_is_not_said_to_be_none(build) -> None:
    reason, message = refused(
        build([build.node("Frobnicate", "X", "y")], opset=99).SerializeToString()
    )

    assert reason is Reason.UNSUPPORTED_MODEL
    assert "the model is made for 99: export it with a lower target_opset" in message


def test_a_long_cause_ends_with_a_sentence_or_a_word() -> None:
    assert cause(RuntimeError("One thing. " * 40)).endswith("thing.")
    assert re.search(r"e word \.\.\.$", cause(RuntimeError("more word" * 20 + " one word" * 60)))


def test_a_dangling_tensor_is_an_error_of_the_model(build) -> None:
    reason, message = refused(build([build.node("Neg", "nowhere", "y")]).SerializeToString())

    assert reason is Reason.INVALID_MODEL
    assert "nowhere" in message


def test_names_that_are_no_text_break_nothing(build) -> None:
    content = build([build.node("Neg", "X", "yyyy")], {"yyyy": None}).SerializeToString()

    assert refused(content.replace(b"yyyy", b"\xff\xfe\xfdy"))[0] is Reason.INVALID_MODEL


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_model_with_changed_bytes_is_refused_or_answers(cases, data) -> None:
    content = bytearray(cases["sklearn_linear_svc"].content)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    said = "answers"
    try:
        describe(bytes(content))
    except ExplainError as error:
        said = error.message
    assert is_presentable(said)


def failure(model, feeds):
    with pytest.raises(ExplainError) as error:
        model.predict(feeds)
    assert error.value.reason is Reason.PREDICTION_FAILED
    assert is_presentable(error.value.message)
    return error.value.message


def test_a_wrong_number_of_columns_is_told(cases) -> None:
    model = load(cases["sklearn_linear"].content)

    assert failure(model, {"X": X}) == (
        "The model cannot be evaluated on these rows: its input 'X' takes 10 columns, not 3"
    )


def test_a_wrong_type_is_told(cases) -> None:
    model = load(cases["two_outputs"].content)

    assert failure(model, {"X": X.astype(float)}).endswith("an input takes float, not double")


def test_an_index_outside_a_table_is_told_with_its_operator(build) -> None:
    content = build(
        [build.node("Gather", "table X", "y")],
        inputs=[build.input("X", [None, 1], TensorProto.INT64)],
        table=np.array([1.0, 2.0, 3.0], np.float32),
    ).SerializeToString()

    message = failure(load(content), {"X": np.array([[7]])})

    assert "in Gather:" in message
    assert "idx=7" in message


def test_too_few_columns_for_the_trees_are_told(build, cases) -> None:
    model = load(cases["sklearn_gradient_boosting_3class"].content)

    assert "takes 4 columns, not 3" in failure(model, {"X": X})


def test_a_missing_input_is_told(cases) -> None:
    assert "cannot be evaluated" in failure(load(cases["flat_columns"].content), {"age": X[:, :1]})


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            (
                "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: /src/a.cc:70 "
                "ml::ScalerOp<T>::ScalerOp(const OpKernelInfo&) [with T = float] scale_.size() == "
                "offset_.size() was false. Scale size: (2) != (1)\n"
            ),
            "Scale size: (2) != (1)",
        ),
        (
            (
                "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running "
                "MatMul node. Name:'' Status Message: matmul_helper.h:59 Compute MatMul dimension "
                "mismatch"
            ),
            "in MatMul: MatMul dimension mismatch",
        ),
        (
            (
                "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: /src/tree.h:256 "
                "Status Tree<T>::Init(int) (node_id >= 0) was false. \n"
            ),
            "(node_id >= 0) was false.",
        ),
    ],
)
def test_causes_tell_what_happened_and_not_where(said: str, kept: str) -> None:
    assert cause(RuntimeError(said)) == kept


def test_too_few_columns_for_trees_that_leave_their_number_open_are_told(build) -> None:
    tree = build.node(
        *("TreeEnsembleRegressor", "X", "y"),
        domain="ai.onnx.ml",
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[5, 0, 0],
        nodes_values=[0.0, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        target_treeids=[0, 0],
        target_nodeids=[1, 2],
        target_ids=[0, 0],
        target_weights=[1.0, 2.0],
        n_targets=1,
    )
    model = load(build([tree], inputs=[build.input("X", [None, None])]).SerializeToString())

    assert failure(model, {"X": X}).endswith(
        "in TreeEnsembleRegressor: One path in the graph requests feature 5 but input tensor "
        "has 3 features."
    )


def test_names_of_any_length_give_short_messages(build) -> None:
    node = build.node("Frobnicate\n" * 999, "X", "y")

    assert "Frobnicate" in refused(build([node]).SerializeToString())[1]


def test_causes_name_no_path_and_stay_on_one_short_line() -> None:
    fault = RuntimeError(f"at /home/someone/core.cc:12 run\x00\x1b[31m\nfailed {'x' * 900}")

    assert cause(fault).startswith("at [31m failed xxx")
    assert len(cause(fault)) == 300 + len(" ...")
