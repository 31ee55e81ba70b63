"""Large networks: their values are never copied, and the answers are those of the file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load, read
from onnxplain_server.additive.model import AdditiveModel
from onnxplain_server.core.errors import ExplainError, Reason

_WIDTH = 1_200
_LARGE_BYTES = 4 * _WIDTH**2
_ROWS = {"x": np.random.default_rng(1).standard_normal((7, 3)).astype(np.float32)}


def network(large: TensorProto, **facts: object) -> ModelProto:
    """Return x @ first @ large @ last, where `large` may have any type."""
    random = np.random.default_rng(2)
    small = {
        "first": random.standard_normal((3, _WIDTH)).astype(np.float32),
        "last": random.standard_normal((_WIDTH, 1)).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["a"]),
        helper.make_node("Cast", ["large"], ["w"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["a", "w"], ["b"]),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "last"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])]
    tensors = [*(numpy_helper.from_array(values, name) for name, values in small.items()), large]
    graph = helper.make_graph(nodes, "network", inputs, outputs, tensors)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, **{"ir_version": 9, **facts})


def values(kind: str) -> np.ndarray:
    size = max(_LARGE_BYTES // np.dtype(kind).itemsize // _WIDTH, _WIDTH)
    random = np.random.default_rng(3)
    return (random.standard_normal((size, _WIDTH))[:_WIDTH] * 3).astype(kind)


def raw(kind: str = "<f4") -> TensorProto:
    return numpy_helper.from_array(values(kind), "large")


def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be parsed with all values."""
    monkeypatch.setattr(read, "parse_apart", lambda _content: None)


@pytest.mark.parametrize("doc_bytes", range(4), ids="at {}".format)
def test_values_stay_in_the_file_wherever_they_lie(
    doc_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where their offset is no multiple of their size, as in most files."""
    content = network(raw(), doc_string="." * doc_bytes).SerializeToString()

    model = load(content)
    answers = model.predict(_ROWS)

    assert model._proto.ByteSize() < _LARGE_BYTES / 100
    whole(monkeypatch)
    assert answers == pytest.approx(load(content).predict(_ROWS), rel=1e-6)
    assert np.ptp(answers) > 0.1


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<f2", "i1", "u1", "<i4", "<i8"])
def test_values_of_each_type_are_those_of_the_file(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxplain_server.adapters.onnx.large_values._LARGE_FILE", 0)
    content = network(raw(kind)).SerializeToString()

    answers = load(content).predict(_ROWS)

    whole(monkeypatch)
    assert answers == pytest.approx(load(content).predict(_ROWS), rel=1e-5)


def as_floats(model: ModelProto) -> None:
    tensor = model.graph.initializer[-1]
    tensor.float_data.extend(np.frombuffer(tensor.raw_data, np.float32))
    tensor.ClearField("raw_data")


def as_input(model: ModelProto) -> None:
    """Name it among the inputs, as exporters did before version 4 of the format."""
    model.ir_version = 3
    for tensor in model.graph.initializer:
        shape = list(tensor.dims)
        model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, shape)
        )


def as_constant(model: ModelProto) -> None:
    tensor = model.graph.initializer.pop()
    model.graph.node.insert(0, helper.make_node("Constant", [], ["large"], value=tensor))


@pytest.mark.parametrize("write", [as_floats, as_input, as_constant])
def test_other_forms_are_read_too(
    write: Callable[[ModelProto], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = network(raw())
    expected = load(model.SerializeToString()).predict(_ROWS)

    write(model)

    assert load(model.SerializeToString()).predict(_ROWS) == pytest.approx(expected, rel=1e-6)


def unread(model: ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(values("<f4"), "unread"))


def of_another_output(model: ModelProto) -> None:
    """Read by a label beside the answer, which is cut off."""
    unread(model)
    model.graph.node.append(helper.make_node("MatMul", ["a", "unread"], ["wide"]))
    model.graph.node.append(helper.make_node("ReduceMax", ["wide"], ["z"], axes=[1]))
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 1]))


@pytest.mark.parametrize("add", [unread, of_another_output])
def test_values_that_an_answer_does_not_read_are_left_out(
    add: Callable[[ModelProto], None],
) -> None:
    model = network(raw())
    expected = load(model.SerializeToString()).predict(_ROWS)

    add(model)
    loaded = load(model.SerializeToString())

    assert loaded.predict(_ROWS)[:, :1] == pytest.approx(expected, rel=1e-6)
    assert loaded._proto.ByteSize() < _LARGE_BYTES / 100


def test_analyses_read_values_that_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear network, of which a column has weight 0: its terms, and what it does not use."""
    model = network(raw())
    _, cast, product, activation, last = model.graph.node
    product.input[1], last.input[0] = "large", "b"
    model.graph.node.remove(activation)
    model.graph.node.remove(cast)
    first = numpy_helper.to_array(model.graph.initializer[0]).copy()
    first[1] = 0
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(first, "first"))
    content = model.SerializeToString()

    def found() -> tuple[object, ...]:
        loaded = load(content)
        terms = loaded.additive
        assert isinstance(terms, AdditiveModel)
        return (
            loaded.unused(3, np.array([0])),
            loaded.roundings.tolist(),
            loaded.trees,
            terms.features.tolist(),
            terms.front(_ROWS).tolist(),
        )

    apart = found()

    whole(monkeypatch)
    assert apart == found()


def in_two_graphs(content: bytes) -> bytes:
    """Add a second graph, which parsers merge into the first."""
    empty = ModelProto(producer_name="p")
    empty.graph.name = "merged"
    return content + empty.SerializeToString()


def twice(content: bytes) -> bytes:
    model = ModelProto.FromString(content)
    model.graph.initializer.append(raw())
    return model.SerializeToString()


def too_short(content: bytes) -> bytes:
    model = ModelProto.FromString(content)
    model.graph.initializer[-1].raw_data = model.graph.initializer[-1].raw_data[:-4]
    return model.SerializeToString()


def of_no_size(content: bytes) -> bytes:
    model = ModelProto.FromString(content)
    model.graph.initializer[-1].dims[0] = -_WIDTH
    return model.SerializeToString()


@pytest.mark.parametrize("forge", [in_two_graphs, twice, too_short, of_no_size])
def test_odd_files_get_the_answer_that_they_had(
    forge: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = forge(network(raw()).SerializeToString())

    def answer() -> object:
        try:
            return load(content).predict(_ROWS).tolist()
        except ExplainError as error:
            return error.reason, error.message

    found = answer()

    whole(monkeypatch)
    assert found == answer()


def test_values_in_another_file_are_refused_beside_values_in_this_one() -> None:
    tensor = raw()
    tensor.external_data.add(key="location", value="apart")
    tensor.data_location = TensorProto.EXTERNAL

    for content in (network(tensor), network(raw())):
        if content.graph.initializer[-1].data_location != TensorProto.EXTERNAL:
            other = content.graph.initializer.add(name="other", data_type=1, dims=[4])
            other.external_data.add(key="location", value="apart")
            other.data_location = TensorProto.EXTERNAL
        with pytest.raises(ExplainError) as refused:
            load(content.SerializeToString())
        assert refused.value.reason is Reason.EXTERNAL_DATA
