"""Fitted models of scikit-learn: written as ONNX, compared on the table's rows, and told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import onnxplain
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain.requests.fitted_models import fitted_model
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

N = 60
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "living area": RNG.uniform(30, 150, N).round(),
        "year": RNG.integers(1900, 2020, N),
        "city": RNG.choice(["north", "south"], N),
    }
)
NUMBERS = ["living area", "year"]
PRICE = 3 * FRAME["living area"] + FRAME["year"] + 50 * (FRAME["city"] == "north")
FITTED = LinearRegression().fit(FRAME[NUMBERS], PRICE)


@pytest.fixture
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def linear(model: Any, inputs: Any, wrong: dict[float, float]) -> Any:
    """Write a linear model of one column per input; for a first value in `wrong`, another one."""
    names = [f"c{position}" for position, _ in enumerate(inputs)]
    constants = {
        "w": model.coef_.reshape(-1, 1),
        "b": np.array([model.intercept_]),
        "at": np.array([next(iter(wrong), -1)]),
        "by": np.array([next(iter(wrong.values()), 0)]),
    }
    nodes = [
        helper.make_node("Concat", names, ["X"], axis=1),
        helper.make_node("MatMul", ["X", "w"], ["sum"]),
        helper.make_node("Add", ["sum", "b"], ["right"]),
        helper.make_node("Equal", [names[0], "at"], ["is_wrong"]),
        helper.make_node("Cast", ["is_wrong"], ["share"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["share", "by"], ["more"]),
        helper.make_node("Add", ["right", "more"], ["y"]),
    ]
    taken = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in names]
    given = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])]
    known = [
        numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()
    ]
    graph = helper.make_graph(nodes, "linear", taken, given, known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def converter(monkeypatch: pytest.MonkeyPatch) -> dict[float, float]:
    """A stand-in of skl2onnx, wrong by so much for rows whose first value is told."""
    wrong: dict[float, float] = {}
    made, types = ModuleType("skl2onnx"), ModuleType("skl2onnx.common.data_types")
    made.convert_sklearn = lambda model, initial_types, **_options: (  # type: ignore[attr-defined]
        linear(model, initial_types, wrong)
    )
    for name in ("DoubleTensorType", "FloatTensorType", "StringTensorType"):
        setattr(types, name, lambda shape: shape)
    common = ModuleType("skl2onnx.common")
    modules = {"skl2onnx": made, "skl2onnx.common": common, "skl2onnx.common.data_types": types}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: True)
    return wrong


CALLS: dict[str, Callable[[onnxplain.Client], Any]] = {
    "explain": lambda c: c.explain(FITTED, FRAME[NUMBERS], "partial_dependence", plots=False),
    "plan": lambda c: c.plan(FITTED, FRAME[NUMBERS], "partial_dependence"),
    "explain_stream": lambda c: [*c.explain_stream(FITTED, FRAME[NUMBERS], "partial_dependence")],
    "predict": lambda c: c.predict(FITTED, FRAME[NUMBERS]),
    "describe_table": lambda c: c.describe_table(FRAME[NUMBERS], FITTED),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_fitted_model_is_written_and_its_difference_told(
    client: onnxplain.Client, converter: dict[float, float], name: str
) -> None:
    with pytest.warns(UserWarning, match=r"on 60 rows .* differ by at most \d\.\de-\d\d$") as told:
        CALLS[name](client)

    (warning,) = told
    assert str(warning.message).startswith("LinearRegression was written as ONNX")
    assert warning.filename == __file__


def test_columns_keep_their_names_and_others_stay_out(
    client: onnxplain.Client, converter: dict[float, float]
) -> None:
    with pytest.warns(UserWarning, match="was written"):
        found = client.predict(FITTED, FRAME.assign(price=PRICE)[["price", "year", "living area"]])

    assert found.values[:, 0] == pytest.approx(FITTED.predict(FRAME[NUMBERS]))
    assert not found.warnings


def test_a_model_that_predicts_otherwise_is_refused_with_its_rows(
    client: onnxplain.Client, converter: dict[float, float]
) -> None:
    value = FRAME["living area"][7]
    converter[value] = 0.01 * np.ptp(PRICE)
    rows = np.flatnonzero(FRAME["living area"] == value)
    with pytest.raises(ValueError, match="predicts otherwise") as refused:
        client.explain(FITTED, FRAME[NUMBERS], "partial_dependence")

    assert f"rows {', '.join(map(str, rows))}, from 0" in str(refused.value)
    assert f"on {len(rows)} of 60 rows" in str(refused.value)


def test_rounding_is_no_difference(client: onnxplain.Client, converter: dict[float, float]) -> None:
    converter[FRAME["living area"][7]] = 5e-5 * np.ptp(PRICE)
    with pytest.warns(UserWarning, match="was written"):
        client.predict(FITTED, FRAME[NUMBERS])


def test_a_difference_from_row_to_row_of_a_long_table_is_looked_for_in_a_thousand() -> None:
    """Rows from its whole length, by their numbers in the table."""
    pytest.importorskip("skl2onnx")
    long = pd.concat([FRAME[NUMBERS]] * 50, ignore_index=True)
    fitted = fitted_model(FITTED, long)

    assert fitted is not None
    assert len(fitted.row_indices) == 1_000
    assert (fitted.row_indices[0], fitted.row_indices[-1]) == (0, len(long) - 1)


def test_a_missing_column_is_named(client: onnxplain.Client, converter: dict[float, float]) -> None:
    with pytest.raises(TypeError, match="fitted on the column 'year', which the table lacks"):
        client.predict(FITTED, FRAME[["living area"]])


def test_without_skl2onnx_the_message_tells_what_to_install(
    client: onnxplain.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(TypeError, match="pip install skl2onnx"):
        client.explain(FITTED, FRAME[NUMBERS], "partial_dependence")


def prepared() -> Any:
    return make_column_transformer(
        (OneHotEncoder(), ["city"]), (StandardScaler(), ["living area", "year"])
    )


REAL = {
    "pipeline": make_pipeline(prepared(), LinearRegression()).fit(FRAME, PRICE),
    "classifier": make_pipeline(prepared(), LogisticRegression()).fit(FRAME, PRICE.mean() < PRICE),
    "scaled numbers": make_pipeline(StandardScaler(), LinearRegression()).fit(
        FRAME[NUMBERS], PRICE
    ),
    "array": LinearRegression().fit(FRAME[NUMBERS].to_numpy(), PRICE),
}


@pytest.mark.parametrize("name", REAL)
def test_what_skl2onnx_writes_predicts_as_scikit_learn_does(
    client: onnxplain.Client, name: str
) -> None:
    pytest.importorskip("skl2onnx")
    table: Any = FRAME[NUMBERS].to_numpy() if name == "array" else FRAME
    given = FRAME if name != "array" else table
    model = REAL[name]
    with pytest.warns(UserWarning, match="was written as ONNX"):
        found = client.predict(model, table)

    if name == "scaled numbers":
        given = FRAME[NUMBERS]
    predict = getattr(model, "predict_proba", model.predict)
    expected = predict(given).reshape(N, -1)
    assert found.values == pytest.approx(expected, rel=1e-4)


def test_a_model_that_skl2onnx_cannot_write_is_refused_with_its_reason(
    client: onnxplain.Client,
) -> None:
    pytest.importorskip("skl2onnx")

    class Own(LinearRegression):  # type: ignore[misc] # scikit-learn ships no types
        """One of the user's own."""

    with pytest.raises(TypeError, match=r"skl2onnx cannot write Own: .*docs/export"):
        client.predict(Own().fit(FRAME[NUMBERS], PRICE), FRAME[NUMBERS])
