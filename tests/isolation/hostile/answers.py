"""Cases (i) to (m): models that load, but give unreliable answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hostile.base import ML, Hostile, hostile, model, node, whole
from onnx import TensorProto, helper
from onnxplain_server.core.errors import Reason

_ANY = frozenset({Reason.INVALID_MODEL, Reason.UNSUPPORTED_MODEL, Reason.PREDICTION_FAILED})
_UNSTEADY = frozenset({Reason.INCONSISTENT_MODEL})
_NOT_FINITE = frozenset({Reason.NON_FINITE_PREDICTION})
_FLOAT = TensorProto.FLOAT


def hostiles() -> Iterator[Hostile]:
    yield from _not_finite()
    yield from _unsteady()
    yield from _batches()
    yield from _outputs()
    yield from _linear()


def _not_finite() -> Iterator[Hostile]:
    zero = {"zero": np.array(0.0, np.float32)}
    yield hostile("i-divided-by-zero", model([node("Div", "X zero")], constants=zero), _NOT_FINITE)
    logarithm = [node("Neg", "X", "n"), node("Log", "n")]
    yield hostile("i-logarithm-of-negative", model(logarithm), _NOT_FINITE)
    yield hostile("i-exponential", model([node("Exp", "X", "e"), node("Exp", "e")]), _NOT_FINITE)


def _unsteady() -> Iterator[Hostile]:
    for operator in ("RandomNormalLike", "RandomUniformLike"):
        nodes = [node(operator, "X", "r"), node("Add", "X r")]
        yield hostile(f"k-{operator}", model(nodes), _UNSTEADY)
    seeded = [node("RandomNormalLike", "X", "r", seed=1.0), node("Add", "X r")]
    yield hostile("k-seeded", model(seeded), _UNSTEADY)
    normal = [node("RandomNormal", "", "r", shape=[3]), node("Add", "X r")]
    yield hostile("k-RandomNormal", model(normal), _UNSTEADY)
    half = {"h": np.array(0.5, np.float32), "t": np.array(True)}
    yield hostile("k-dropout", model([node("Dropout", "X h t")], constants=half), _UNSTEADY)
    means = [node("ReduceMean", "X", "m", axes=[0]), node("Sub", "X m")]
    yield hostile("k-mean-of-the-batch", model(means), _UNSTEADY)
    axis = {"a": np.array(0, np.int64)}
    yield hostile("k-running-sum", model([node("CumSum", "X a")], constants=axis), _UNSTEADY)


def _batches() -> Iterator[Hostile]:
    one = {"X": (_FLOAT, [1, 3])}
    yield hostile("l-batch-of-one", model([node("Neg", "X")], inputs=one), _ANY, may_answer=True)
    shape = {"s": whole(1, 3)}
    inner = model([node("Reshape", "X s", "r"), node("Neg", "r")], constants=shape)
    yield hostile("l-reshape-to-one", inner, _ANY, may_answer=True)
    yield hostile(
        "l-drops-rows", model([node("ReduceSum", "X", "y", keepdims=0)]), _ANY, may_answer=True
    )
    yield hostile("l-repeats-rows", model([node("Concat", "X X", axis=0)]), _ANY)


def _outputs() -> Iterator[Hostile]:
    sequence = model([node("SequenceConstruct", "X X")])
    sequence.graph.output[0].CopyFrom(
        helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
    )
    yield hostile("m-sequence", sequence, _ANY)
    for kind in (TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN, TensorProto.STRING):
        made = model([node("Cast", "X", to=kind)], outputs={"y": kind}, opset=19)
        yield hostile(f"m-{TensorProto.DataType.Name(kind)}", made, _ANY, may_answer=True)
    lying = model([node("Neg", "X")])
    lying.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 77
    yield hostile("m-lying-shape", lying, _ANY, may_answer=True)
    lying = model([node("Neg", "X")], outputs={"y": TensorProto.INT64})
    yield hostile("m-lying-type", lying, _ANY, may_answer=True)
    none = model([node("Neg", "X")])
    del none.graph.output[:]
    yield hostile("m-none", none, _ANY)
    for name in (
        "../../etc/passwd",
        "a\x00b",
        "'; DROP TABLE x",
        "<script>",
        "\x1b[31m",
        "é" * 400,
    ):
        yield hostile(
            f"m-name-{name.encode().hex()[:10]}",
            model(
                [node("Neg", "X", "q"), helper.make_node("Identity", ["q"], [name])],
                outputs={name: _FLOAT},
            ),
            _ANY,
            may_answer=True,
        )
    wide = {"s": whole(1, 2_000)}
    tall = model([node("ReduceMax", "X", "m", axes=[1]), node("Tile", "m s")], constants=wide)
    yield hostile("m-two-thousand-columns", tall, _ANY | {Reason.OUT_OF_MEMORY}, may_answer=True)


def _linear() -> Iterator[Hostile]:
    """(g) Linear models, scalers and machines that contradict themselves."""
    for name, operator, attributes in (
        ("linear-short", "LinearRegressor", {"coefficients": [1.0, 2.0], "intercepts": [0.0]}),
        ("linear-empty", "LinearRegressor", {"intercepts": [0.0]}),
        ("linear-targets", "LinearRegressor", {"coefficients": [1.0] * 3, "targets": 2**40}),
        ("linear-negative", "LinearRegressor", {"coefficients": [1.0] * 3, "targets": -1}),
        ("scaler-short", "Scaler", {"offset": [0.0, 1.0], "scale": [1.0, 1.0]}),
        ("imputer-short", "Imputer", {"imputed_value_floats": [0.0, 1.0]}),
        ("normalizer-none", "Normalizer", {"norm": "L9"}),
        ("svm-empty", "SVMRegressor", {"n_supports": 1, "kernel_type": "LINEAR"}),
        ("svm-huge", "SVMRegressor", {"n_supports": 2**40, "coefficients": [1.0], "rho": [0.0]}),
        ("extractor-none", "ArrayFeatureExtractor", {}),
        ("binarizer", "Binarizer", {"threshold": float("nan")}),
    ):
        made = model([node(operator, "X", domain=ML, **attributes)])
        yield hostile(f"g-{name}", made, _ANY | _NOT_FINITE, may_answer=True)
    picks = model([node("Gather", "X i", axis=1)], constants={"i": whole(99)})
    yield hostile("g-gather-outside", picks, _ANY)
    shape = model([node("Reshape", "X s")], constants={"s": whole(-7, 2)})
    yield hostile("g-reshape-negative", shape, _ANY)
