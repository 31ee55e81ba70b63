"""Columns of a matrix: by the model's names where it carries them, else by position, and told."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, load_model
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.column_names import column_names
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.model import Input
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.core.rows import bind, bind_without_model
from onnxplain_server.core.warnings import Tells
from onnxplain_server.explain.binding.position_notes import position_notes
from onnxplain_server.explain.far_from_target import far_from_target
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss, LossParameters
from onnxplain_server.report.facts import warnings_that_tell
from onnxplain_server.wire.table import read_file

CASE = Path(__file__).parents[1] / "golden" / "hstats" / "case_friedman1_gbr"
ENGINES = ("TREES", "BLACK_BOX")
Ask = Callable[..., ExplainResponse]


def read_case() -> tuple[ModelProto, dict[str, list[float]]]:
    with (CASE / "data.csv").open() as file:
        rows = list(csv.DictReader(file))[:200]
    return load_model(CASE / "model.onnx"), {n: [float(row[n]) for row in rows] for n in rows[0]}


def naming(model: ModelProto, names: list[str], key: str = "feature_names") -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.metadata_props.add(key=key, value=json.dumps(names))
    return copy


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


@pytest.fixture
def ask(runner: InProcess, make) -> Ask:
    def asked(model: ModelProto, columns, **question) -> ExplainResponse:
        request = ExplainRequest(
            model=Model(content=model.SerializeToString()),
            table=Table(
                columns=Columns(columns=[Column(name=n, numbers=v) for n, v in columns.items()])
            ),
            **{"methods": [{"average_loss": {}}], "target_column": "y", "plots": False, **question},
        )
        return ExplainResponse.FromString(
            runner.answer(
                Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host()
            ).content
        )

    return asked


def warning(answer: ExplainResponse, code: str) -> str:
    warnings: list[Any] = list(answer.warnings)
    return "".join(w.message for w in warnings if w.code == code)


def loss(answer: ExplainResponse) -> float:
    return answer.explanations[0].average_loss.losses[0].values[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_are_found_by_the_models_names_wherever_they_stand(ask: Ask, engine: str) -> None:
    model, columns = read_case()
    names = [name for name in columns if name != "y"]
    mixed = {name: columns[name] for name in reversed(columns)}

    whole = ask(model, columns, engine=engine)
    named = ask(naming(model, names), mixed | {"more": [1.0] * 200}, engine=engine)

    assert loss(named) == pytest.approx(loss(whole), rel=1e-12)
    assert not warning(named, "COLUMNS_BY_POSITION")
    swapped = ask(model, {n: mixed[n] for n in mixed}, engine=engine)
    assert loss(swapped) > 2 * loss(whole)
    assert f"1 '{names[-1]}'" in warning(swapped, "COLUMNS_BY_POSITION")


def test_names_that_disagree_are_refused(ask: Ask) -> None:
    model, columns = read_case()
    names = [name for name in columns if name != "y"]

    with pytest.raises(ExplainError) as refusal:
        ask(naming(model, ["age", *names[1:]]), columns)

    assert (refusal.value.reason, refusal.value.field) == (Reason.MISSING_COLUMN, "feature_columns")
    assert f"the table has no 'age', but '{names[0]}'" in refusal.value.message
    stated = ask(naming(model, ["age", *names[1:]]), columns, feature_columns=names)
    assert loss(stated) == loss(ask(model, columns, feature_columns=names))


def test_a_stated_order_may_not_put_the_models_columns_elsewhere(ask: Ask) -> None:
    model, columns = read_case()
    names = [name for name in columns if name != "y"]
    swapped = [names[1], names[0], *names[2:]]

    with pytest.raises(ExplainError) as refusal:
        ask(naming(model, names), columns, feature_columns=swapped)

    assert refusal.value.reason is Reason.INVALID_OPTION
    assert f"'{names[1]}' in place 1" in refusal.value.message
    assert not warning(ask(model, columns, feature_columns=swapped), "COLUMNS_BY_POSITION")


def test_names_that_only_count_say_nothing_of_other_columns(ask: Ask) -> None:
    model, columns = read_case()
    renamed = {f"the {name}" if name != "y" else name: v for name, v in columns.items()}
    counted = naming(model, [f"Column_{j}" for j in range(len(columns) - 1)])

    answer = ask(counted, renamed)

    assert loss(answer) == loss(ask(model, columns))
    assert "1 'the " in warning(answer, "COLUMNS_BY_POSITION")


def test_an_order_is_no_doubt_where_names_say_nothing_else_and_the_count_agrees(ask: Ask) -> None:
    model, columns = read_case()
    names = [name for name in columns if name != "y"]
    nameless, doubled = ask(model, columns), ask(naming(model, ["", *names[1:]]), columns)

    for answer, kind in ((nameless, Tells.HOW_IT_WAS_MADE), (doubled, Tells.DOUBT)):
        told = [caution.code for caution in warnings_that_tell(answer, kind)]
        assert "COLUMNS_BY_POSITION" in told


def test_columns_that_are_only_numbered_are_taken_by_position(ask: Ask) -> None:
    """As those of an array are."""
    model, columns = read_case()
    named = naming(model, [f"the {name}" for name in columns if name != "y"])
    numbered = {n if n == "y" else f"f{j}": v for j, (n, v) in enumerate(columns.items())}

    answer = ask(named, numbered)

    assert loss(answer) == loss(ask(model, columns))
    told = warning(answer, "COLUMNS_BY_POSITION")
    assert told.startswith("The names of the model or of the table only count")
    assert "1 'the " in told


def test_columns_of_an_array_have_the_models_names_unless_the_request_counts(ask: Ask) -> None:
    model, columns = read_case()
    names = [name for name in columns if name != "y"]
    numbered = {n if n == "y" else f"f{j}": v for j, (n, v) in enumerate(columns.items())}

    def curve(feature: str) -> tuple[str, list[float]]:
        method = {"partial_dependence": {"features": [{"names": [feature]}]}}
        answer = ask(naming(model, names), numbered, methods=[method])
        [found] = answer.explanations[0].partial_dependence.curves
        return found.features[0], list(found.values)

    assert curve(names[1]) == (names[1], curve("f1")[1])
    assert curve("f1")[0] == "f1"


@pytest.mark.parametrize(
    ("carried", "table", "bound", "told"),
    [
        pytest.param("aba", "bxa", "", "'a' more than once", id="a name twice"),
        pytest.param("aba", "abc", "abc", "'a' more than once", id="twice, and the order fits"),
        pytest.param(["a", "", "b"], "bxa", "axb", "empty name in place 2", id="one is left"),
        pytest.param(["", "", "b"], "bxa", "", "empty name in place 1", id="two are left"),
        pytest.param("aab", "xyz", "", "'a' more than once", id="other names"),
        pytest.param("abcd", "bac", "", "4 names for 3 columns", id="another order"),
        pytest.param("abcd", "acd", "acd", "4 names for 3 columns", id="the same order"),
        pytest.param("ab", "xyz", "xyz", "2 names for 3 columns", id="names of something else"),
    ],
)
def test_names_that_do_not_tell_each_column_are_told_and_not_ignored(
    make, carried, table: str, bound: str, told: str
) -> None:
    """Columns are bound where the names that tell leave one way, or agree with the order."""
    model = load_model(Path(__file__).parents[1] / "models" / "batch_of_one.onnx")
    named = column_names(Graph(naming(model, [*carried])), 3)
    matrix = Input("X", "double", 3, *named)
    rows = make.table({name: np.arange(3.0) for name in table})

    if not bound:
        with pytest.raises(ExplainError) as refused:
            bind([matrix], rows, (), ("", ""))
        assert refused.value.field == "feature_columns"
        assert told in refused.value.message
        return
    features = bind([matrix], rows, (), ("", ""))

    assert "".join(features.names) == bound
    (note,) = position_notes(features)
    assert told in note.message


def test_columns_stand_in_the_tables_order_whatever_can_be_read() -> None:
    """As text, in a file without types, and numbers that float64 lacks."""
    csv = b"id,z,when\n9007199254740993,a,12:30\n7,b,12:31\n"
    matrix = Input("X", "string", 3)
    table = read_file("csv", csv)

    features = bind([matrix], table.with_texts(table.present), (), ("", ""))

    assert table.unreadable
    assert features.names == ("id", "z", "when")


@pytest.mark.parametrize("others", [("", ""), ("y", "w")])
def test_a_column_without_a_name_is_an_index_unless_the_model_takes_one_more(make, others) -> None:
    names = ["", "a", "b", *filter(None, others)]
    table = make.table({name: np.arange(3.0) for name in names})
    several = [Input("X", "double", 2), Input("a", "double", 1)]

    assert bind([Input("X", "double", 2)], table, (), others).names == ("a", "b")
    assert bind_without_model(table, (), others).names == ("a", "b")
    assert bind([Input("X", "double", 3)], table, ("", "b", "a"), others).names == ("", "b", "a")
    for taken in ([Input("X", "double", 3)], several):
        with pytest.raises(ExplainError, match=r"one without, .* give it a name") as refused:
            bind(taken, table, (), others)
        assert refused.value.field == "table"


@pytest.mark.parametrize("method", ["average_loss", "permutation_importance"])
@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_far_from_the_target_are_told(ask: Ask, engine: str, method: str) -> None:
    model, columns = read_case()
    negated = columns | {"y": [-value for value in columns["y"]]}
    question: dict[str, Any] = {"engine": engine, "methods": [{method: {}}]}

    assert not warning(ask(model, columns, **question), "FAR_FROM_TARGET")
    message = warning(ask(model, negated, **question), "FAR_FROM_TARGET")
    assert "On 200 rows the model is no better than a constant prediction" in message
    assert f"of the best constant {np.var(columns['y']):.3g} (R² = −" in message


def test_groups_are_compared_together(ask: Ask) -> None:
    model, columns = read_case()
    negated = columns | {"y": [-value for value in columns["y"]]}
    name = next(iter(columns))

    plain = ask(model, negated)
    grouped = ask(model, negated, methods=[{"average_loss": {"group_column": name}}])

    assert warning(plain, "FAR_FROM_TARGET") == warning(grouped, "FAR_FROM_TARGET")


@pytest.mark.parametrize("given", [Loss.SQUARED_ERROR, Loss.ABSOLUTE_ERROR, Loss.POISSON])
def test_the_constant_is_the_best_there_is(given: Loss) -> None:
    """By search: no other constant has a lower loss."""
    random = np.random.default_rng(3)
    actual, weights = random.exponential(size=(40, 1)), random.integers(0, 4, 40).astype(float)
    comparison = Comparison(loss=given)
    constants = np.linspace(0.01, 4, 4000)
    least = min(
        comparison.average(actual, np.full_like(actual, constant), weights)[0]
        for constant in constants
    )

    def told(loss: float) -> bool:
        return bool(far_from_target(comparison, actual, weights, np.array([loss]), ("y",)))

    assert told(least * 1.0001)
    assert not told(least * 0.999)


def test_classes_are_compared_together_and_infinite_losses_not() -> None:
    actual = np.eye(3)[[0, 0, 0, 1, 1, 2]]
    shares = actual.mean(axis=0)
    comparison = Comparison(loss=Loss.SQUARED_ERROR, one_hot_target=True)
    ones, names = np.ones(6), ("a", "b", "c")
    limits = shares * (1 - shares)

    assert not far_from_target(comparison, actual, ones, limits * [0.9, 0.9, 1.05], names)
    (note,) = far_from_target(comparison, actual, ones, limits * 1.1, names)
    assert "all classes" in note.message
    assert "R² = −0.1)" in note.message
    assert not far_from_target(comparison, actual, ones, np.full(3, np.inf), names)


def test_numbers_of_a_warning_are_told_apart_and_name_the_quantile() -> None:
    actual = np.arange(9.0)[:, None]
    comparison = Comparison(loss=Loss.PINBALL, parameters=LossParameters(quantile=0.125))
    limit = comparison.average(actual, np.full_like(actual, 1.0), np.ones(9))

    (note,) = far_from_target(comparison, actual, np.ones(9), limit + 1e-5, ("y",))

    assert "PINBALL (quantile 0.125) of y 0.48612, of the best constant 0.48611. " in note.message


def test_wide_tables_are_listed_in_part(make) -> None:
    names = tuple(f"c{j}" for j in range(40))
    model = make.model(lambda *c: c[0] * c[1], names, ["double"] * 40, matrix=True)
    table = make.table({n: np.random.default_rng(0).normal(size=4) for n in names})
    options = partial_dependence.Options(features=(("c0",),))
    (note,) = make.answer(model, table, options).notes
    assert note.code == "COLUMNS_BY_POSITION"
    assert "10 'c9', 11 'c10', …, 40 'c39'" in note.message
    assert not make.answer(model, table, options, feature_columns=names).notes


@pytest.mark.parametrize(
    ("key", "value", "names"),
    [
        ("feature_names", '["a", "b, c", "d"]', ("a", "b, c", "d")),
        ("Columns", "['a', 'b', 'it\"s']", ("a", "b", 'it"s')),
        ("features", "a, b,c", ("a", "b", "c")),
        ("feature_names", "a b\nb,\nc", ("a b", "b,", "c")),
        ("feature_names", '["a", "b"]', ()),
        ("feature_names", '["a", "b", "b"]', ()),
        ("feature_names", '["a", "b", 3]', ()),
        ("feature_names", '["a", "b", "\\ud800"]', ()),
        ("feature_names", "[" * 100_000, ()),
        ("feature_names", '{"a": 1, "b": 2, "c": 3}', ()),
        ("author", '["a", "b", "c"]', ()),
    ],
)
def test_a_model_tells_the_names_that_it_carries(
    key: str, value: str, names: tuple[str, ...]
) -> None:
    model = load_model(Path(__file__).parents[1] / "models" / "batch_of_one.onnx")
    model.metadata_props.add(key=key, value=value)
    assert column_names(Graph(model), 3).names == names
    model.graph.input[0].doc_string = '["u", "v", "w"]'
    assert column_names(Graph(model), 3).names == (names or ("u", "v", "w"))


def test_a_description_has_the_names(runner: InProcess, make) -> None:
    model, columns = read_case()
    names = [name for name in columns if name != "y"]

    def described(model: ModelProto) -> list[str]:
        request = DescribeModelRequest(model=Model(content=model.SerializeToString()))
        answer = runner.answer(
            Call(ServiceMethod.DESCRIBE, request.SerializeToString()), make.host()
        ).content
        return list(DescribeModelResponse.FromString(answer).model.feature_names)

    assert described(naming(model, names)) == names
    assert described(model) == []


def rare_class(case: str) -> tuple[Any, Any, Any]:
    """Classes of which one is rare, predictions of it, and weights."""
    random = np.random.default_rng(1)
    score = random.normal(size=2_000)
    actual = (random.random(2_000) < 1 / (1 + np.exp(4.2 - score))).astype(float)
    chances = 1 / (1 + np.exp(4.2 - score))
    predicted = {
        "calibrated": chances,
        "trained on equal weights of classes": chances / (chances + 0.03 * (1 - chances)),
        "of other rows": random.permutation(chances),
        "in reverse": 1 - chances,
    }[case]
    return actual[:, None], predicted[:, None], np.ones(2_000)


@pytest.mark.parametrize("loss", [Loss.ACCURACY, Loss.LOGLOSS, Loss.SQUARED_ERROR, Loss.F1])
@pytest.mark.parametrize(
    ("case", "is_accused"),
    [
        ("calibrated", False),
        ("trained on equal weights of classes", False),
        ("of other rows", True),
        ("in reverse", True),
    ],
)
def test_a_rare_class_is_no_sign_of_a_wrong_target(case: str, is_accused: bool, loss: Loss) -> None:
    actual, predicted, weights = rare_class(case)
    comparison = Comparison(
        loss=loss, one_hot_target=True, parameters=LossParameters(threshold=0.5)
    )
    found = comparison.average(actual, predicted, weights)

    told = far_from_target(comparison, actual, weights, found, ("y",), predict=lambda: predicted)

    assert bool(told) is is_accused or (is_accused and loss is Loss.F1)


@pytest.mark.parametrize("loss", [Loss.ACCURACY, Loss.LOGLOSS, Loss.AUC])
def test_rows_of_one_class_accuse_nobody(loss: Loss) -> None:
    comparison = Comparison(
        loss=loss, one_hot_target=True, parameters=LossParameters(threshold=0.5)
    )
    actual, predicted = np.ones((50, 1)), np.linspace(0.3, 0.9, 50)[:, None]
    found = comparison.average(actual, predicted, np.ones(50))

    assert not far_from_target(
        comparison, actual, np.ones(50), found, ("y",), predict=lambda: predicted
    )
