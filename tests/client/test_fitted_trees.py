"""Trees of scikit-learn that skl2onnx does not write: the file predicts as the fitted model does.

The rows that are compared are others than those of the training, with missing, infinite and unknown
values, and values that equal thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import onnxplain
import pandas as pd
import pytest
from onnxplain_server.adapters.onnx.converter_faults import ConverterFaults, converter_faults
from onnxplain_server.core.model_limits import DEFAULT_LIMITS
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

pytest.importorskip("skl2onnx")


def rows(seed: int, count: int) -> pd.DataFrame:
    """Return numbers as float64 with missing ones, a small integer, and a text."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(count, 3)), columns=["a", "b", "living area"])
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    frame["size"] = rng.integers(0, 6, count) * 2.0
    frame["town"] = rng.choice(["Ulm", "Wien", "Xi'an", "Ystad", "Zürich"], count)
    return frame


TABLE = rows(0, 300)
NUMBERS = ["a", "b", "living area"]
_FILLED = TABLE.fillna(0)
TARGET = (
    2 * _FILLED["a"]
    + _FILLED["b"] * _FILLED["living area"]
    + 3 * (TABLE["town"] == "Wien")
    - 2 * (TABLE["size"] == 6)
    + TABLE["a"].isna()
)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(TARGET, [-1, 2])]


def probes() -> pd.DataFrame:
    """Return rows of the training, on whose values some thresholds are, and others."""
    new = rows(1, 100)
    new.loc[::10, "a"] = np.inf
    new.loc[1::10, "b"] = -np.inf
    return pd.concat([TABLE, new], ignore_index=True)


PROBES = probes()


class Case(NamedTuple):
    model: Any
    columns: list[str]
    target: Any = TARGET


def boosting(**options: Any) -> Any:
    return HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=8, **options)


def classifier(**options: Any) -> Any:
    return HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=8, **options)


def encoded(model: Any) -> Any:
    kept = ("passthrough", NUMBERS)
    return make_pipeline(make_column_transformer((OrdinalEncoder(), ["town"]), kept), model)


def forest(**options: Any) -> Any:
    return IsolationForest(n_estimators=8, random_state=0, **options)


ALL = [*NUMBERS, "size", "town"]
CASES = {
    "numbers": Case(boosting(), NUMBERS),
    "poisson": Case(boosting(loss="poisson"), NUMBERS, np.exp(TARGET / 4)),
    "two classes": Case(classifier(), NUMBERS, TARGET > 0),
    "classes of texts": Case(classifier(), NUMBERS, CLASSES),
    "categories": Case(boosting(), ALL),
    "categories of classes": Case(classifier(), ALL, CLASSES),
    "numeric categories": Case(boosting(categorical_features=[3]), [*NUMBERS, "size"]),
    "trees without splits": Case(
        boosting(categorical_features=[0], min_samples_leaf=120), ["size"]
    ),
    "encoder": Case(encoded(classifier(categorical_features=[0])), [*NUMBERS, "town"], TARGET > 0),
    "scaler": Case(make_pipeline(StandardScaler(), boosting()), NUMBERS),
    "isolation forest": Case(forest(max_features=0.5, contamination=0.1), NUMBERS),
    "isolation forest of one row": Case(forest(max_samples=1), NUMBERS),
    "scaled isolation forest": Case(make_pipeline(StandardScaler(), forest()), NUMBERS),
}
ALIKE = {"numbers", "poisson", "classes of texts", "categories", "scaler", "isolation forest"}
"""Cases whose parts the others have, too."""


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in ALIKE else ()) for name in CASES]
)
def test_the_file_predicts_as_the_fitted_model(client: onnxplain.Client, name: str) -> None:
    case = CASES[name]
    table, probed = (_given(frame, name)[case.columns] for frame in (TABLE, PROBES))
    is_forest = "forest" in name
    model = case.model.fit(table, None if is_forest else case.target)

    with pytest.warns(UserWarning, match="was written as ONNX"):
        content = onnxplain.export(model, table, client=client)

    predict = next(
        getattr(model, method)
        for method in ("predict_proba", "decision_function", "predict")
        if hasattr(model, method)
    )
    expected = predict(probed).reshape(len(probed), -1)
    assert client.predict(content, probed).values == pytest.approx(expected, rel=2e-6, abs=2e-6)


def _given(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    if name.startswith("categories"):
        return frame.assign(town=frame["town"].astype("category"))
    takes_infinite = not ("forest" in name or "scale" in name)
    return frame if takes_infinite else frame.replace([np.inf, -np.inf], 9)


@pytest.mark.parametrize("name", ["categories of classes", "scaled isolation forest"])
def test_the_trees_of_the_file_are_explained_exactly(client: onnxplain.Client, name: str) -> None:
    case = CASES[name]
    table = _given(TABLE, name)[case.columns]
    model = case.model.fit(table, None if "forest" in name else case.target)
    with pytest.warns(UserWarning, match="was written as ONNX"):
        content = onnxplain.export(model, table, client=client)

    found = client.explain(content, table, "partial_dependence", plots=False, engine="TREES")

    assert len(found) == 1


def test_columns_have_any_names_also_that_of_a_matrix(client: onnxplain.Client) -> None:
    table = TABLE[NUMBERS].set_axis(["X", "my col", "c"], axis=1)
    with pytest.warns(UserWarning, match="was written as ONNX"):
        content = onnxplain.export(boosting().fit(table, TARGET), table, client=client)

    assert client.describe(content).feature_names == ("X", "my col", "c")


@pytest.mark.parametrize("name", ["numbers", "scaled isolation forest"])
def test_no_fault_of_skl2onnx_is_told_of_own_trees(client: onnxplain.Client, name: str) -> None:
    case = CASES[name]
    table = _given(TABLE, name)[case.columns]
    model = case.model.fit(table, None if "forest" in name else case.target)
    with pytest.warns(UserWarning, match="was written as ONNX"):
        content = onnxplain.export(model, table, client=client)

    none = ConverterFaults(frozenset(), "", "", b"", "")
    assert converter_faults(content, DEFAULT_LIMITS) == none
    assert client.describe(content).producer == "onnxplain"


def test_what_is_no_fitted_model_is_not_exported() -> None:
    with pytest.raises(TypeError, match="bytes is a file already"):
        onnxplain.export(b"content", TABLE)
