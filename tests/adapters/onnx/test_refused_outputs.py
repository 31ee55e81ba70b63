"""Models that onnxruntime refuses for how they declare an output: refused, or told."""

from __future__ import annotations

import onnx
import onnxruntime
import pytest
from onnx import TensorProto, ValueInfoProto
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError

SEQUENCE = -1
DECLARED = (
    *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.STRING, TensorProto.INT64),
    *(TensorProto.BOOL, SEQUENCE),
)


def redeclare(output: ValueInfoProto, element_type: int) -> None:
    """Declare an output as a tensor of this type, or as a list of tensors."""
    if element_type == SEQUENCE:
        output.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    else:
        output.type.tensor_type.elem_type = element_type


def refuses(content: bytes) -> bool:
    """Whether onnxruntime itself refuses a model."""
    try:
        onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 - its errors have many types
        return True
    return False


def notes_of(content: bytes) -> dict[str, str] | None:
    """What is told about a model by code; None if it is refused."""
    try:
        return {note.code: note.message for note in load(content).notes}
    except ExplainError:
        return None


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    "name", ["sklearn_random_forest_binary", "sklearn_network_3class", "two_outputs"]
)
def test_no_output_of_another_type_is_left_out_in_silence(cases, name: str, index: int) -> None:
    told = 0
    for declared in DECLARED:
        model = onnx.load_from_string(cases[name].content)
        redeclare(model.graph.output[index], declared)
        content = model.SerializeToString()
        if not refuses(content):
            continue
        if (notes := notes_of(content)) is None:
            continue
        assert "does not match expected type" in notes["OUTPUT_REFUSED"]
        assert f"its output {model.graph.output[index].name!r}, " in notes["OUTPUT_REFUSED"]
        told += 1

    assert told > 0


def test_several_outputs_that_are_left_out_are_named(cases) -> None:
    model = onnx.load_from_string(cases["sklearn_random_forest_binary"].content)
    model.graph.output.add(name="label").CopyFrom(model.graph.output[0])
    copy = model.graph.node.add(op_type="Identity", input=["label"], output=["again"])
    model.graph.output[2].name = copy.output[0]
    redeclare(model.graph.output[2], TensorProto.STRING)

    (note,) = load(model.SerializeToString()).notes

    assert "without its outputs 'label', 'again', which it accepts" in note.message


def test_models_as_exporters_write_them_are_not_told(cases) -> None:
    for name in cases:
        codes = {note.code for note in load(cases[name].content).notes}

        assert "OUTPUT_REFUSED" not in codes, name
