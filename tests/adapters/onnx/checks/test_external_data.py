"""External data: no model reads a file."""

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnxplain_server.adapters.onnx import describe, evaluation, load
from onnxplain_server.core.errors import ExplainError, Reason

SECRET = b"the content of a file beside the server"


def external(name, *, location="secret.txt", mark=True):
    tensor = TensorProto(name=name, data_type=TensorProto.UINT8, dims=[len(SECRET)])
    tensor.data_location = TensorProto.EXTERNAL if mark else TensorProto.DEFAULT
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    return tensor


def nest(model: ModelProto, node: NodeProto) -> None:
    """Put a node into both branches of an If."""
    branch = helper.make_graph([node], "branch", [], [helper.make_tensor_value_info("t", 2, None)])
    model.graph.node.append(
        helper.make_node("If", ["c"], ["r"], then_branch=branch, else_branch=branch)
    )


def constant(tensor):
    return helper.make_node("Constant", [], ["t"], value=tensor)


def in_initializer(model, tensor):
    model.graph.initializer.append(tensor)


def in_attribute(model, tensor):
    model.graph.node.append(constant(tensor))


def in_subgraph(model, tensor):
    nest(model, constant(tensor))


def in_function(model, tensor) -> None:
    opsets = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "F", [], ["t"], [constant(tensor)], opsets))


def in_sparse_initializer(model, tensor):
    model.graph.sparse_initializer.add().values.CopyFrom(tensor)


def in_training(model, tensor):
    model.training_info.add().initialization.initializer.append(tensor)


@pytest.mark.parametrize("mark", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("read", [load, describe])
@pytest.mark.parametrize(
    "place",
    [in_initializer, in_attribute, in_subgraph, in_function, in_sparse_initializer, in_training],
)
def test_external_data_is_refused_wherever_it_hides(build, place, read, mark) -> None:
    model = build([build.node("Neg", "X", "y")])
    place(model, external("hidden", mark=mark))

    with pytest.raises(ExplainError, match="'hidden' keeps its values in another file") as refused:
        read(model.SerializeToString())

    assert refused.value.reason is Reason.EXTERNAL_DATA


def test_the_runtime_alone_would_read_it(build, tmp_path, monkeypatch) -> None:
    """Otherwise the refusal would protect from nothing."""
    onnxruntime = pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    model = build(
        [build.node("Cast", "hidden", "y", to=TensorProto.FLOAT)], inputs=[build.input("X", [1, 1])]
    )
    model.graph.initializer.append(external("hidden"))

    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )

    leaked = session.run(None, {"X": np.zeros((1, 1), np.float32)})[0]
    assert bytes(leaked.astype(np.uint8)) == SECRET


def test_even_unnoticed_external_data_is_not_read_from_the_working_directory(
    build, tmp_path, monkeypatch
) -> None:
    """The second lock: the session's own folder for such files does not exist."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    model = build([build.node("Cast", "hidden", "y", to=TensorProto.FLOAT)])
    model.graph.initializer.append(external("hidden"))

    with pytest.raises(Exception, match="onexistent"):
        evaluation.open_session(model)
