"""Models of other kinds beside the black box and bare onnxruntime, by processor time.

python -m bench.speed.networks.further

Pipelines of scikit-learn, an explainable boosting machine of interpret, a spline logistic model,
and networks for tables of random weights: attention between columns, and masks of columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from onnx import TensorProto
from onnxplain_server.core.arrays import Array
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, StackingRegressor, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

from bench.speed.additive import Case, pipeline
from bench.speed.networks.first_layers import Network, adult, compare

_MODELS = Path(__file__).parents[3] / "tests" / "models"
_ROWS, _TRAINED, _WIDTH = 2_000, 500, 10
QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "curves, 2,000 rows": {"methods": [{"partial_dependence": {}}], "row_count": _ROWS},
    "H², 200 rows": {
        "methods": [{"interactions": {"pairwise_feature_count": 5}}],
        "row_count": 200,
    },
}


def text_pipelines() -> Iterator[Case]:
    """Models of scikit-learn behind one-hots and a scaler, on adult."""
    columns = {name: own[:_ROWS] for name, own in adult().items()}
    frame = pd.DataFrame(columns)
    texts = [name for name, own in columns.items() if own.dtype == object]
    numbers = [name for name in columns if name not in texts]
    income = (frame[numbers[0]] + 10 * (frame[texts[0]] == columns[texts[0]][0]) > 40).astype(int)
    front = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), (StandardScaler(), numbers)
    )
    both = [("all", LogisticRegression(max_iter=500)), ("few", LogisticRegression(C=0.01))]
    kinds = [
        (name, StringTensorType([None, 1]) if name in texts else FloatTensorType([None, 1]))
        for name in columns
    ]
    network = MLPClassifier((64, 32), max_iter=20, random_state=0)
    for name, model in (
        ("adult, MLPClassifier", network),
        (
            "adult, soft votes of two logistic models",
            VotingClassifier(both, voting="soft", flatten_transform=False),
        ),
    ):
        fitted = make_pipeline(front, model).fit(frame, income)
        content = to_onnx(fitted, initial_types=kinds, options={"zipmap": False})
        yield Case(name, content.SerializeToString(), columns)


def number_pipelines() -> Iterator[Case]:
    """Models of scikit-learn on scaled numbers."""
    rows, target = make_friedman1(_ROWS, _WIDTH, random_state=0)
    rows = rows.astype(np.float32)
    columns = {f"x{j}": rows[:, j] for j in range(_WIDTH)}
    stacked = [("linear", Ridge()), ("boosted", GradientBoostingRegressor(random_state=0))]
    for name, model in (
        ("support vectors", SVR(C=10.0)),
        ("neighbours", KNeighborsRegressor(5)),
        ("stacking of ridge and boosted trees", StackingRegressor(stacked, Ridge(), cv=2)),
    ):
        fitted = make_pipeline(StandardScaler(), model).fit(rows[:_TRAINED], target[:_TRAINED])
        content = to_onnx(fitted, initial_types=[("X", FloatTensorType([None, _WIDTH]))])
        yield Case(f"{name}, {_WIDTH} numbers", content.SerializeToString(), columns)


def boosting_machine() -> Case:
    """Explainable boosting machine of liver patients, five numbers and a text, three pairs."""
    known = json.loads((_MODELS / "interpret_binary.json").read_text(encoding="utf-8"))["columns"]
    random = np.random.default_rng(0)
    columns = {
        name: np.array(random.choice(own, _ROWS), object if isinstance(own[0], str) else np.float32)
        for name, own in known.items()
    }
    content = (_MODELS / "interpret_binary.onnx").read_bytes()
    return Case("interpret, 6 columns, 3 pairs", content, columns)


def spline_logistic() -> Case:
    """Logistic model of cubic splines with five knots, in truncated powers."""
    network = Network()
    source, parts = network.column("X", TensorProto.FLOAT, _WIDTH), []
    for knot in np.linspace(-2, 2, 5):
        above = network.add("Sub", [source, network.constant(np.full(1, knot, np.float32))])
        cube = network.constant(np.full(1, 3, np.float32))
        parts.append(network.add("Pow", [network.add("Relu", [above]), cube]))
    tensor = network.add("Concat", [source, *parts], axis=1)
    return _ended(network, tensor, 6 * _WIDTH, (), "splines and a logistic function")


def attention() -> Case:
    """Attention between tokens, one for each column, as in an FT-Transformer."""
    network, size = Network(), 32
    source = network.column("X", TensorProto.FLOAT, _WIDTH)
    columns = network.add("Unsqueeze", [source, network.constant(np.array([2]))])
    scaled = network.add("Mul", [columns, _weights(network, _WIDTH, size)])
    tensor = network.add("Add", [scaled, _weights(network, _WIDTH, size)])
    for _ in range(2):
        asked, keys, values = (
            network.add("MatMul", [tensor, _weights(network, size, size)]) for _ in range(3)
        )
        turned = network.add("Transpose", [keys], perm=[0, 2, 1])
        shares = network.add("Softmax", [network.add("MatMul", [asked, turned])], axis=2)
        tensor = network.add("Add", [tensor, network.add("MatMul", [shares, values])])
        hidden = network.add("Relu", [network.add("MatMul", [tensor, _weights(network, size, 64)])])
        ahead = network.add("MatMul", [hidden, _weights(network, 64, size)])
        tensor = network.add("Add", [tensor, ahead])
    flat = network.add("Flatten", [tensor], axis=1)
    return _ended(network, flat, _WIDTH * size, (), "attention between columns")


def masks() -> Case:
    """Three steps, each of which chooses columns by a mask that the step before gives."""
    network, parts = Network(), []
    source = network.column("X", TensorProto.FLOAT, _WIDTH)
    tensor = source
    for _ in range(3):
        scores = network.add("MatMul", [tensor, _weights(network, _WIDTH, _WIDTH)])
        mask = network.add("Softmax", [scores], axis=1)
        tensor = network.add("Mul", [source, mask])
        hidden = network.add("MatMul", [tensor, _weights(network, _WIDTH, 32)])
        parts.append(network.add("Relu", [hidden]))
    return _ended(network, network.add("Concat", parts, axis=1), 96, (), "masks of columns")


def _weights(network: Network, *shape: int) -> str:
    return network.constant((network.rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32))


def _ended(network: Network, tensor: str, width: int, hidden: tuple[int, ...], name: str) -> Case:
    model = network.dense(tensor, [width, *hidden, 1])
    numbers: Array = network.rng.normal(size=(_ROWS, _WIDTH)).astype(np.float32)
    columns = {f"x{j}": numbers[:, j] for j in range(_WIDTH)}
    return Case(f"{name}, {_WIDTH} numbers", model, columns)


def cases() -> Iterator[Case]:
    yield from text_pipelines()
    yield from number_pipelines()
    yield boosting_machine()
    yield spline_logistic()
    ten = pipeline(10)
    yield ten._replace(columns={name: own[:_ROWS] for name, own in ten.columns.items()})
    yield attention()
    yield masks()


def main() -> None:
    compare(cases(), QUESTIONS)


if __name__ == "__main__":
    main()
