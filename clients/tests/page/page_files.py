"""Models and tables for the journeys of the page."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HOSTILE = (
    "</script><script>window.broken = 1</script>",
    '<img src=x onerror="window.broken = 1">',
    "javascript:window.broken=1",
    "\u202egnitaluger\u2066\u0007",
    "a.b[c]\"d'\\e`${window.broken=1}`",
    "datum['x'] = window.broken = 1",
    "x" * 10_000,
)
COLORS = ("red", "green", "blue")


def write(folder: Path) -> None:
    """Write all files of the journeys into a folder."""
    plain = ("size", "weight")
    classes = ("ripe", "unripe")
    onnx.save(classifier(plain, "color", classes), folder / "fruit.onnx")
    onnx.save(classifier(plain, "color", classes, first=4.0), folder / "fruit-later.onnx")
    write_table(folder / "fruit.csv", plain, "color", classes, "state")
    hostile_classes = (HOSTILE[0], HOSTILE[1])
    model = classifier(HOSTILE[1:], HOSTILE[0], hostile_classes)
    onnx.save(model, folder / f"{HOSTILE[1].replace('/', ' ')}.onnx")
    write_table(folder / "hostile.csv", HOSTILE[1:], HOSTILE[0], hostile_classes, "javascript:0")
    onnx.save(
        network(),
        folder / "net.onnx",
        save_as_external_data=True,
        location="net.data",
        size_threshold=0,
    )
    (folder / "broken.onnx").write_bytes(b"no model")
    write_table(folder / "other.csv", ("height",), "name", classes, "state")


def network() -> onnx.ModelProto:
    """A layer from two numbers to the output `scent`, whose weights may lie in another file."""
    weights = numpy_helper.from_array(np.array([[1.0], [2.0]], np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["rows", "weights"], ["scent"])],
        "network",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("scent", TensorProto.FLOAT, [None, 1])],
        [weights],
    )
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


def classifier(
    numbers: Sequence[str], text: str, classes: tuple[str, str], first: float = 1.0
) -> onnx.ModelProto:
    """A classifier of numbers, a text and the product of all, with named classes.

    It has an input for each. Because of the product, its effects are predicted.

    Parameters
    ----------
    first : float
        Coefficient of the first number.
    """
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, 1]) for n in numbers]
    inputs.append(helper.make_tensor_value_info(text, TensorProto.STRING, [None, 1]))
    coefficients = [first, *(1.0 + k for k in range(1, len(numbers))), 2.0, 0.1]
    nodes = [
        helper.make_node(
            "LabelEncoder",
            [text],
            ["code"],
            domain="ai.onnx.ml",
            keys_strings=list(COLORS),
            values_floats=[0.0, 1.0, 2.0],
        ),
        helper.make_node("Concat", [*numbers, "code"], ["single"], axis=1),
        helper.make_node("ReduceProd", ["single"], ["product"], axes=[1], keepdims=1),
        helper.make_node("Concat", ["single", "product"], ["all"], axis=1),
        helper.make_node(
            "LinearClassifier",
            ["all"],
            ["label", "probabilities"],
            domain="ai.onnx.ml",
            classlabels_strings=list(classes),
            coefficients=[-c for c in coefficients] + coefficients,
            intercepts=[1.0, -1.0],
            post_transform="SOFTMAX",
        ),
    ]
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.STRING, [None]),
        helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [None, 2]),
    ]
    graph = helper.make_graph(nodes, "classifier", inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def write_table(
    path: Path, numbers: Sequence[str], text: str, classes: tuple[str, str], target: str
) -> None:
    """Write rows for such a model, with the classes of the truth."""
    random = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*numbers, text, target])
        for values in random.normal(size=(120, len(numbers))):
            known = classes[int(values.sum() > 0)]
            rows.writerow([*(f"{v:.3f}" for v in values), str(random.choice(COLORS)), known])
