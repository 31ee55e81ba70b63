"""Models of scikit-learn, exported by skl2onnx."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from onnx import ModelProto, NodeProto, helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from skl2onnx.helpers.onnx_helper import select_model_inputs_outputs
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

Fixture = tuple[str, ModelProto, pd.DataFrame, dict[str, Any]]
LIVER = Path(__file__).parent.parent / "data" / "indian_liver_patient.csv"
TYPES = {"i": Int64TensorType, "f": FloatTensorType, "O": StringTensorType}


def fixtures() -> Iterator[Fixture]:
    yield from regressors()
    yield from classifiers()
    yield from labels()
    yield from pipelines()
    yield from votes()


def regressors() -> Iterator[Fixture]:
    features, y = diabetes()
    boosting = GradientBoostingRegressor(n_estimators=20, max_depth=3, random_state=1)
    yield regressor(
        "sklearn_gradient_boosting", make_pipeline(StandardScaler(), boosting), features, y
    )
    forest = RandomForestRegressor(n_estimators=5, max_depth=4, random_state=1)
    both = np.column_stack([y, -y])
    yield regressor("sklearn_random_forest_two_targets", forest, features, both)
    yield regressor("sklearn_linear", LinearRegression(), features, y)
    whole = (features * 1000).round().astype(np.int64)
    tree = DecisionTreeRegressor(max_depth=4, random_state=1)
    yield regressor("sklearn_tree_int64", tree, whole, y)


def classifiers() -> Iterator[Fixture]:
    X2, y2 = cancer()
    X3, y3 = iris()
    boosting = GradientBoostingClassifier(n_estimators=15, max_depth=3, random_state=1)
    yield classifier("sklearn_gradient_boosting_binary", boosting, X2, y2)
    yield classifier("sklearn_gradient_boosting_3class", boosting, X3, y3)
    histogram = HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=8, random_state=1)
    with mock.patch("skl2onnx.common._container.make_node", plain_node):
        yield classifier("sklearn_hist_gradient_boosting_binary", histogram, X2, y2)
        yield classifier("sklearn_hist_gradient_boosting_3class", histogram, X3, y3)
    forest = RandomForestClassifier(n_estimators=8, max_depth=4, random_state=1)
    yield classifier("sklearn_random_forest_binary", forest, X2, y2, has_margin=False)
    yield classifier("sklearn_random_forest_3class", forest, X3, y3, has_margin=False)
    logistic = LogisticRegression(C=0.1, max_iter=5000)
    yield classifier("sklearn_logistic_binary", logistic, X2, y2)
    yield classifier("sklearn_logistic_3class", logistic, X3, y3)
    yield classifier("sklearn_logistic_binary_double", logistic, X2.astype(np.float64), y2)
    yield classifier("sklearn_logistic_3class_double", logistic, X3.astype(np.float64), y3)
    yield classifier("sklearn_one_versus_rest", OneVsRestClassifier(logistic), X3, y3)
    network = MLPClassifier((8,), max_iter=1000, learning_rate_init=0.02, random_state=1)
    scaled = make_pipeline(StandardScaler(), network)
    yield classifier("sklearn_network_binary", scaled, X2, y2, has_margin=False)
    yield classifier("sklearn_network_3class", scaled, X3, y3, has_margin=False)


def labels() -> Iterator[Fixture]:
    features, y = iris()
    vectors = LinearSVC(random_state=1).fit(features.to_numpy(), y)
    model = to_onnx(vectors, features[:1].to_numpy())
    rows = sample(features)
    scores = vectors.decision_function(rows.to_numpy())
    answers = {"output_names": vectors.classes_, "response": scores, "margin": None}
    yield "sklearn_linear_svc", model, rows, answers
    hits = vectors.predict(rows.to_numpy())[:, np.newaxis] == vectors.classes_
    only = select_model_inputs_outputs(model, ["label"])
    yield "sklearn_linear_svc_labels_only", only, rows, answers | {"response": hits}


def pipelines() -> Iterator[Fixture]:
    """One input per column, of several types, with missing values and categories."""
    table = pd.read_csv(LIVER).astype({"Gender": object})
    floats = table.select_dtypes("float").columns
    table[floats] = table[floats].astype(np.float32)
    features, y = table.drop(columns="liver_patient"), table["liver_patient"]
    whole, words = list(features.select_dtypes("int").columns), ["Gender"]
    for unknown in ("ignore", "error"):
        prepared = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), list(floats)),
            (StandardScaler(), whole),
            (OneHotEncoder(handle_unknown=unknown), words),
        )
        model = make_pipeline(prepared, LogisticRegression(max_iter=1000)).fit(features, y)
        types = [(name, TYPES[features[name].dtype.kind]([None, 1])) for name in features]
        rows = pd.concat([sample(features, 30), features[features.isna().any(axis=1)]])
        exported = to_onnx(model, initial_types=types)
        yield f"sklearn_columns_{unknown}", exported, rows, answers_of(model, rows)


def votes() -> Iterator[Fixture]:
    """Trees and linear models that vote: bagged on parts of the features, and with categories."""
    features, y = diabetes()
    forest = RandomForestRegressor(n_estimators=2, max_depth=3, random_state=1)
    line = make_pipeline(StandardScaler(), LinearRegression())
    vote = VotingRegressor([("forest", forest), ("line", line)], weights=np.array([0.7, 0.3]))
    bags = BaggingRegressor(vote, 3, max_features=6, random_state=1)
    yield regressor("sklearn_bagged_votes", bags, features, y)

    table = pd.read_csv(LIVER).astype({"Gender": object}).dropna()
    words, numbers = ["Gender"], ["Age", "Albumin", "Total_Protiens"]
    table = table[words + numbers].astype(dict.fromkeys(numbers, np.float32))
    encoder = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words)
    )
    both = VotingRegressor([("forest", forest), ("line", LinearRegression())])
    y = np.array(table["Albumin"] * np.where(table["Gender"] == "Male", 1.0, 0.5))
    model = make_pipeline(encoder, both).fit(table, y)
    types = [(name, TYPES[table[name].dtype.kind]([None, 1])) for name in table]
    rows = sample(table)
    answers = {"output_names": ["variable"], "response": model.predict(rows), "margin": None}
    yield "sklearn_votes_of_columns", to_onnx(model, initial_types=types), rows, answers


def regressor(name: str, model, features: pd.DataFrame, y, output: str = "variable") -> Fixture:
    model.fit(features.to_numpy(), y)
    rows = sample(features)
    response = model.predict(rows.to_numpy())
    names = (
        [f"variable_{k}" for k in range(response.shape[1])] if response.ndim > 1 else ["variable"]
    )
    exported = to_onnx(model, features[:1].to_numpy())
    return name, exported, rows, {"output_names": names, "response": response, "margin": None}


def classifier(name: str, model, features: pd.DataFrame, y, *, has_margin: bool = True) -> Fixture:
    model.fit(features.to_numpy(), y)
    rows = sample(features)
    last = model[-1] if hasattr(model, "steps") else model
    exported = to_onnx(model, features[:1].to_numpy(), options={id(last): {"zipmap": False}})
    return name, exported, rows, answers_of(model, rows.to_numpy(), has_margin=has_margin)


def answers_of(model, rows, *, has_margin: bool = True) -> dict[str, Any]:
    scores = model.decision_function(rows) if has_margin else None
    if scores is not None and scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    return {
        "output_names": [str(label) for label in model.classes_],
        "response": model.predict_proba(rows),
        "margin": scores,
    }


def plain_node(*args, **attributes) -> NodeProto:
    """Make a node from numpy's integers and booleans too, as histogram boosting gives them."""
    return helper.make_node(*args, **{name: plain(value) for name, value in attributes.items()})


def plain(value):
    if isinstance(value, list):
        return [
            int(item) if isinstance(item, np.integer | bool | np.bool_) else item for item in value
        ]
    return value


def diabetes() -> tuple[pd.DataFrame, Any]:
    return decimal(load_diabetes(as_frame=True).data, 4), load_diabetes().target


def cancer() -> tuple[pd.DataFrame, Any]:
    return decimal(
        load_breast_cancer(as_frame=True).data.iloc[:, :8], 4
    ), load_breast_cancer().target


def iris() -> tuple[pd.DataFrame, Any]:
    """With species as text."""
    data = load_iris(as_frame=True)
    return decimal(data.data, 2), data.target_names[data.target]


def decimal(features: pd.DataFrame, places: int) -> pd.DataFrame:
    return features.round(places).astype(np.float32)


def sample(features: pd.DataFrame, count: int = 40) -> pd.DataFrame:
    return features.sample(count, random_state=1)
