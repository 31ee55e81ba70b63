"""Models of several inputs, of which some are matrices: which columns each of them takes."""

from typing import Any

import numpy as np
import onnxplain
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.core.binding.input_columns import columns_of_inputs, in_input_order
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.model import Input
from onnxplain_server.core.rows import bind, feeds
from onnxplain_server.core.table import Table

CITY = [1.0, 2.0, 0.0, 2.0, 1.0]
AGE, INCOME, DOSE = [1.0, 2.0, 3.0, 4.0, 5.5], [0.0, 1.0, 0.0, 1.0, 2.0], [7.0, 7.5, 8.0, 9.0, 1.0]
EFFECTS = np.array([[10.0], [20.0], [40.0]], np.float32)
WEIGHTS = np.array([[1.0], [2.0], [0.0]], np.float32)
Y = [21.0, 44.0, 13.0, 46.0, 29.5]
TABLE = {"age": AGE, "city": CITY, "income": INCOME, "dose": DOSE}
INPUTS = (Input("city", "int64", 1), Input("num", "float", 3))


def model() -> bytes:
    """As an exporter writes a network of an embedding beside three numbers."""
    nodes = [
        helper.make_node("Gather", ["effects", "city"], ["effect"]),
        helper.make_node("MatMul", ["num", "weights"], ["sum"]),
        helper.make_node("Add", ["effect", "sum"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("city", TensorProto.INT64, ["n"]),
        helper.make_tensor_value_info("num", TensorProto.FLOAT, ["n", 3]),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])
    constants = [
        numpy_helper.from_array(EFFECTS, "effects"),
        numpy_helper.from_array(WEIGHTS, "weights"),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [output], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


@pytest.fixture(scope="module")
def client():
    with onnxplain.local() as made:
        yield made


def test_columns_go_to_inputs_by_name_and_the_rest_to_the_matrix_which_is_told(client) -> None:
    predicted = client.predict(model(), TABLE)

    assert list(predicted.values) == pytest.approx(Y)
    (warning,) = predicted.warnings
    assert warning.code == "COLUMNS_BY_POSITION"
    assert "'city' takes 'city'; 'num' takes 'age', 'income', 'dose'" in warning.message


def test_all_inputs_are_explained_by_their_columns(client) -> None:
    shares = {"input_columns": {"num": ["age", "income", "dose"], "city": ["city"]}}
    curves = onnxplain.PartialDependence(features=["city", "income", "dose"])
    swapped = {**TABLE, "age": INCOME, "income": AGE}

    explained = client.explain(model(), TABLE, curves, onnxplain.Interactions(), **shares)
    other = client.predict(model(), swapped, feature_columns=["city", "income", "age", "dose"])

    assert not explained.warnings
    of_city, of_income, of_dose = explained.partial_dependence.curves
    assert np.diff(of_city.values.ravel()).tolist() == pytest.approx([10.0, 20.0])
    assert np.diff(of_income.values.ravel()).tolist() == pytest.approx([2.0, 2.0])
    assert np.ptp(of_dose.values) == 0
    assert explained.interactions.total.values[0] == pytest.approx(0, abs=1e-6)
    assert list(other.values) == pytest.approx(Y)


@pytest.mark.parametrize(
    ("inputs", "columns", "found"),
    [
        (INPUTS, ("city", "a", "b", "c"), ("city", "a", "b", "c")),
        (INPUTS, ("c", "a", "city", "b"), ("city", "c", "a", "b")),
        (
            (Input("words", "string", 2), Input("num", "float", 2)),
            ("a", "text1", "b", "text2"),
            ("text1", "text2", "a", "b"),
        ),
        (INPUTS, ("place", "a", "b", "c"), "nothing tells which of 'place', 'a', 'b', 'c' are for"),
        (INPUTS, ("city", "a", "b"), "has 2 columns of numbers; name the columns of each input"),
        (INPUTS, ("city", "y", "a", "b", "c"), "if 'y' holds the true values, name it in target"),
        (INPUTS, ("city", "a", "b", "c", "d", "e"), r"'city' \(1 column\) and 'num' \(3 columns\)"),
    ],
)
def test_names_widths_and_kinds_tell_the_inputs_where_one_way_is_possible(
    inputs: tuple[Input, ...], columns: tuple[str, ...], found: Any
) -> None:
    table = Table(
        {
            name: np.array(["x"], object) if name.startswith("text") else np.ones(1)
            for name in columns
        },
        1,
    )
    if isinstance(found, str):
        with pytest.raises(ExplainError, match=found):
            columns_of_inputs(inputs, table, (), ("", ""))
    else:
        assert columns_of_inputs(inputs, table, (), ("", "")) == (found, True)


@pytest.mark.parametrize(
    ("named", "fault"),
    [
        (("city", "a", "b"), "feature_columns names 3"),
        (("a", "b", "c", "city"), "gives 'city' to 'num'"),
    ],
)
def test_columns_that_are_named_are_taken_input_by_input(named, fault: str) -> None:
    table = Table({name: np.ones(1) for name in ("city", "a", "b", "c")}, 1)

    assert columns_of_inputs(INPUTS, table, ("city", "c", "a", "b"), ()) == (
        ("city", "c", "a", "b"),
        False,
    )
    with pytest.raises(ExplainError, match=fault):
        columns_of_inputs(INPUTS, table, named, ())


def test_columns_by_input_are_fed_whatever_they_are_called_and_in_any_order() -> None:
    inputs = (Input("city", "int64", 1), Input("age", "float", 1))
    table = Table({name: np.array([k]) for name, k in (("age", 1.0), ("town", 2.0))}, 1)

    features = bind(inputs, table, (), (), input_columns=(("age", ("age",)), ("city", ("town",))))

    fed = feeds(features, features.cast_columns())
    assert {name: rows.tolist() for name, rows in fed.items()} == {"city": [[2]], "age": [[1.0]]}
    swapped = bind(inputs, table, (), (), input_columns=(("age", ("town",)), ("city", ("age",))))
    assert swapped.names == ("age", "town")
    matrix = (Input("X", "float", 2),)
    assert bind(matrix, table, (), (), input_columns=(("X", ("town", "age")),)).matrix == "X"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ((("city", ("a",)),), "name each input of the model once: 'city', 'num'"),
        ((("city", ("a",)), ("nun", ("b", "c", "d"))), "names 'city', 'nun'"),
        ((("city", ("a",)), ("num", ("b",)), ("num", ("c",))), "names 'city', 'num', 'num'"),
        ((("city", ("a",)), ("num", ("b", "c"))), "gives 2 columns to 'num', which takes 3"),
    ],
)
def test_each_input_is_named_once_with_as_many_columns_as_it_takes(given, fault: str) -> None:
    with pytest.raises(ExplainError, match=fault):
        in_input_order(INPUTS, given)


def test_columns_are_named_in_one_way_only(client) -> None:
    with pytest.raises(onnxplain.ExplainError, match="feature_columns or input_columns, not both"):
        client.predict(model(), TABLE, feature_columns=["city"], input_columns={"city": ["city"]})
