"""Kernel models of scikit-learn as skl2onnx writes them: effects beside scikit-learn's predictions.

scikit-learn computes in float64. skl2onnx rounds the numbers of support vector machines to float32,
and writes Gaussian processes in the type of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.additive.kernel_check import check_kernels
from onnxplain_server.additive.kernel_effects import KernelEffects, KernelSetup
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.core.interfaces import Host
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.refusal import Refusal
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, NuSVR

WIDTH, TRAINED, ROWS = 3, 60, 8
FLOAT32, FLOAT64 = 2e-5, 1e-10
"""Differences from scikit-learn, relative to the range of its predictions."""


def _process(kernel: Any, **options: Any) -> Any:
    return GaussianProcessRegressor(kernel, optimizer=None, **options)


_WIDE = ConstantKernel(2.0) * RBF([1.0, 2.0, 0.5])
_ONE_HOT = make_column_transformer(
    (OneHotEncoder(sparse_output=False), [0]), (StandardScaler(), [1, 2])
)
RAW = {SVC: {"raw_scores": True, "zipmap": False}}


class Exported(NamedTuple):
    """Model of scikit-learn, the type of its rows, and how far it is from the exact numbers."""

    model: Any
    dtype: type
    allowed: float
    options: Mapping[type, Any] = {}
    labels: bool = False


MODELS = {
    "support vectors": Exported(SVR(), np.float32, FLOAT32),
    "nu": Exported(NuSVR(C=3), np.float32, FLOAT32),
    "scaled": Exported(make_pipeline(StandardScaler(), MinMaxScaler(), SVR()), np.float32, FLOAT32),
    "one-hot": Exported(make_pipeline(_ONE_HOT, SVR()), np.float32, FLOAT32),
    "vote": Exported(
        VotingRegressor([("a", SVR()), ("b", make_pipeline(StandardScaler(), SVR(C=3)))]),
        np.float32,
        FLOAT32,
    ),
    "classes": Exported(SVC(), np.float32, FLOAT32, RAW, labels=True),
    "process of float32": Exported(_process(_WIDE, alpha=0.1), np.float32, FLOAT32),
    "process": Exported(_process(_WIDE, alpha=0.1), np.float64, FLOAT64),
    "normal process": Exported(_process(_WIDE, alpha=0.1, normalize_y=True), np.float64, FLOAT64),
    "one length": Exported(_process(RBF(0.7) + WhiteKernel(0.1)), np.float64, FLOAT64),
    "scaled process": Exported(
        make_pipeline(StandardScaler(), _process(_WIDE + WhiteKernel(0.1))), np.float64, FLOAT64
    ),
    "sum of kernels": Exported(
        _process(_WIDE + ConstantKernel(3.0) * RBF(2.0) + ConstantKernel(0.5) + WhiteKernel(0.1)),
        np.float64,
        FLOAT64,
    ),
    "product of kernels": Exported(
        _process(RBF(1.0) * RBF(2.0) + WhiteKernel(0.1)), np.float64, FLOAT64
    ),
}


class Fitted:
    """Exported model that was fitted, with rows and its effects by scikit-learn."""

    def __init__(self, exported: Exported) -> None:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(TRAINED, WIDTH))
        rows[:, 0] = rows[:, 0].round()
        rows = rows.astype(exported.dtype)
        target = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2])
        own = (target > 0).astype(int) if exported.labels else target
        self.fitted = exported.model.fit(rows.astype(float), own)
        written = to_onnx(self.fitted, rows[:1], options=exported.options or None)
        self.content = written.SerializeToString()
        self.loaded = load(self.content)
        columns = tuple(rows[:ROWS].T.astype(float))
        features = Features(("a", "b", "c"), columns, (np.dtype(exported.dtype),) * WIDTH, "X")
        weights = rng.integers(1, 4, ROWS).astype(float)
        self.background = merge(features, weights, np.arange(ROWS))
        self.spread = float(np.ptp(self.predict(rows.astype(float))))

    def predict(self, rows):
        """Predict by scikit-learn: (n_rows, n_outputs)."""
        if hasattr(self.fitted, "decision_function"):
            score = self.fitted.decision_function(rows)
            return np.stack([-score, score], axis=1)
        return self.fitted.predict(rows).reshape(len(rows), -1)

    def average(self, features):
        count = len(self.background)
        columns = [
            np.repeat(own, count) if j in features else np.tile(own, count)
            for j, own in enumerate(self.background.columns)
        ]
        predicted = self.predict(np.stack(columns, axis=1).astype(float))
        cube = predicted.reshape(count, count, -1)
        return np.average(cube, axis=1, weights=self.background.weights)


# skl2onnx reads attributes that the newest scikit-learn is about to drop.
@pytest.mark.filterwarnings("ignore:Attribute .prob:FutureWarning")
@pytest.mark.parametrize("name", MODELS)
def test_effects_of_kernel_models_are_those_of_scikit_learn(name: str) -> None:
    exported = MODELS[name]
    case = Fitted(exported)
    kernels = case.loaded.additive
    assert isinstance(kernels, KernelModel), kernels
    assert check_kernels(kernels, case.loaded, case.background) is None
    allowed = exported.allowed * case.spread
    with ThreadPoolExecutor(1) as threads:
        names = case.loaded.output_names
        setup = KernelSetup(kernels, names, frozenset(), BlockPool(threads, Ledger(Host())))
        engine = KernelEffects(setup, case.background)
        every = range(WIDTH)
        for single in engine.single(every):
            j = single.feature
            np.testing.assert_allclose(single.own, case.average([j]), rtol=0, atol=allowed)
            rest = case.average([k for k in every if k != j])
            np.testing.assert_allclose(single.others, rest, rtol=0, atol=allowed)
        for joint in engine.joint(list(combinations(every, 2))):
            whole = case.average(joint.features)
            np.testing.assert_allclose(joint.whole, whole, rtol=0, atol=allowed)


REFUSED = {
    "kernel POLY": Exported(SVR(kernel="poly"), np.float32, 0.0),
    "mixtures of features": Exported(make_pipeline(PCA(2), SVR()), np.float32, 0.0),
    "not known": Exported(_process(Matern()), np.float64, 0.0),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_models_of_other_kernels_are_refused(reason: str) -> None:
    kernels = Fitted(REFUSED[reason]).loaded.additive
    assert isinstance(kernels, Refusal)
    assert reason in kernels.reason


@pytest.mark.parametrize("name", ["support vectors", "normal process"])
@pytest.mark.parametrize("part", ["centers", "scales", "weights", "offset"])
def test_the_check_sees_wrong_kernels(name: str, part: str) -> None:
    case = Fitted(MODELS[name])
    kernels = case.loaded.additive
    assert isinstance(kernels, KernelModel)
    vars(kernels)[part] = getattr(kernels, part) * 1.01
    refusal = check_kernels(kernels, case.loaded, case.background)
    assert refusal is not None
    assert "its kernels add up to" in refusal.reason


def test_sums_of_kernels_whose_rounding_hides_the_predictions_are_refused() -> None:
    case = Fitted(MODELS["support vectors"])
    kernels = case.loaded.additive
    assert isinstance(kernels, KernelModel)
    kernels.weights[:] *= 1e6
    refusal = check_kernels(kernels, case.loaded, case.background)
    assert refusal is not None
    assert "rounding" in refusal.reason


def _altered(content: bytes, **changed: Any) -> ModelProto:
    """Return a model with other attributes of its support vector machine."""
    model = ModelProto.FromString(content)
    (node,) = (node for node in model.graph.node if node.op_type.startswith("SVM"))
    kept = [own for own in node.attribute if own.name not in changed]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in changed.items())
    return model


@pytest.mark.parametrize(
    "changed",
    [
        {"kernel_params": [-0.1, 0.0, 3.0]},
        {"kernel_params": [float("nan"), 0.0, 3.0]},
        {"one_class": 1},
        {"rho": [0.5, 0.5]},
    ],
)
def test_machines_that_are_no_sums_of_falling_kernels_are_refused(changed: Any) -> None:
    content = Fitted(MODELS["support vectors"]).content
    assert isinstance(load(_altered(content, **changed).SerializeToString()).additive, Refusal)


@pytest.mark.parametrize(("operator", "factor"), [("Mul", 2.0), ("Div", 0.5)])
def test_exponents_may_be_scaled_twice(operator: str, factor: float) -> None:
    case = Fitted(MODELS["normal process"])
    model = ModelProto.FromString(case.content)
    (place,) = (k for k, node in enumerate(model.graph.node) if node.op_type == "Exp")
    exponential = model.graph.node[place]
    scaled = helper.make_node(operator, [exponential.input[0], "factor"], ["scaled"])
    exponential.input[0] = "scaled"
    model.graph.node.insert(place, scaled)
    model.graph.initializer.append(numpy_helper.from_array(np.array(factor), "factor"))
    loaded = load(model.SerializeToString())
    before, after = case.loaded.additive, loaded.additive
    assert isinstance(before, KernelModel)
    assert isinstance(after, KernelModel), after
    assert check_kernels(after, loaded, case.background) is None
    np.testing.assert_allclose(after.scales, 2 * before.scales)
