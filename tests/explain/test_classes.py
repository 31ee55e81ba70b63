"""Targets that name classes, in all methods that read one, asked for as a transport does."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, load_model
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

pytestmark = pytest.mark.usefixtures("few_trees")

GOLDEN = Path(__file__).parents[1] / "golden" / "hstats"
IRIS, CANCER = GOLDEN / "case_iris_logistic_3class", GOLDEN / "case_breast_rf_binary"
ENGINES = ("TREES", "BLACK_BOX")
SPECIES = np.array(["setosa", "versicolor", "virginica"])

Ask = Callable[..., ExplainResponse]


def read_case(case: Path) -> tuple[ModelProto, dict[str, Any], Any]:
    """A model, its feature columns, and the target, which holds whole numbers."""
    with (case / "data.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    target = columns.pop("y").astype(int)
    return load_model(case / "model.onnx"), columns, target


def probabilities(model: ModelProto, columns: dict[str, Any]):
    """What onnxruntime says, without any of this project's code."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    matrix = np.column_stack(list(columns.values())).astype(np.float32)
    return session.run(["probabilities"], {session.get_inputs()[0].name: matrix})[0]


def renamed(model: ModelProto, *labels) -> ModelProto:
    """The same classifier with other names of its classes."""
    copy = ModelProto()
    copy.CopyFrom(model)
    (node,) = (n for n in copy.graph.node if n.op_type.endswith("Classifier"))
    kept = [a for a in node.attribute if not a.name.startswith("classlabels")]
    kind = "strings" if isinstance(labels[0], str) else "int64s"
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(f"classlabels_{kind}", list(labels))])
    element = TensorProto.STRING if kind == "strings" else TensorProto.INT64
    copy.graph.output[0].type.tensor_type.elem_type = element
    return copy


def only_output(model: ModelProto, name: str = "chance") -> ModelProto:
    """The same classifier with the probability of the second class alone."""
    copy = ModelProto()
    copy.CopyFrom(model)
    bounds = {"first": 1, "end": 2, "axis": 1}
    for key, value in bounds.items():
        tensor = helper.make_tensor(key, TensorProto.INT64, [1], [value])
        copy.graph.initializer.append(tensor)
    copy.graph.node.append(
        helper.make_node("Slice", ["probabilities", "first", "end", "axis"], [name])
    )
    del copy.graph.output[:]
    copy.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]))
    copy.opset_import.append(helper.make_opsetid("", 13))
    return copy


def column(name: str, values) -> Column:
    if isinstance(values[0], str):
        return Column(name=name, strings=values)
    return Column(name=name, numbers=values)


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


@pytest.fixture
def ask(runner: InProcess, make) -> Ask:
    """Explain a model on columns and a target by one method."""

    def asked(model: ModelProto, columns, target, method, **question):
        table = [column(name, values) for name, values in columns.items()]
        request = ExplainRequest(
            model=Model(content=model.SerializeToString()),
            table=Table(columns=Columns(columns=[*table, column("y", list(target))])),
            methods=[method],
            **{"feature_columns": list(columns), "target_column": "y", "plots": False, **question},
        )
        answer = runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host()
        ).content
        return ExplainResponse.FromString(answer)

    return asked


def losses(answer: ExplainResponse) -> list[float]:
    return list(answer.explanations[0].average_loss.losses[0].values)


def pairings(answer: ExplainResponse) -> list[tuple[str, str]]:
    return [(one.label, one.output_name) for one in answer.explanations[0].class_pairings]


def refusal(ask: Ask, *arguments, **given) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        ask(*arguments, **given)
    return refused.value


def loss(**options) -> dict[str, Any]:
    return {"average_loss": options}


def test_numbers_of_classes_are_compared_as_classes(ask: Ask) -> None:
    """Not as numbers, which gave 1.99, 1.25 and 0.68: still to be had where asked for."""
    model, columns, y = read_case(IRIS)
    predicted = probabilities(model, columns)

    method = loss(loss="SQUARED_ERROR")
    found = ask(model, columns, y, method)
    text = ask(renamed(model, *SPECIES), columns, SPECIES[y], method)
    numbers = ask(model, columns, y, loss(one_hot_target=False, target_columns=["y"] * 3))

    assert losses(found) == pytest.approx(((np.eye(3)[y] - predicted) ** 2).mean(axis=0), rel=1e-6)
    assert losses(text) == losses(found)
    assert losses(numbers) == pytest.approx(((y[:, None] - predicted) ** 2).mean(axis=0), rel=1e-6)
    assert losses(numbers) == pytest.approx([1.99, 1.25, 0.68], abs=0.01)
    assert found.explanations[0].options.average_loss.one_hot_target
    assert pairings(found) == [("0", "0"), ("1", "1"), ("2", "2")]
    assert pairings(text) == [(name, name) for name in SPECIES]
    assert pairings(numbers) == []
    assert found.model.has_class_scores


@pytest.mark.parametrize("engine", ENGINES)
def test_both_probabilities_of_a_binary_model_have_the_same_log_loss(ask: Ask, engine: str) -> None:
    """The number of the class beside the first of them gave 3.98."""
    model, columns, y = read_case(CANCER)
    chance = np.clip(probabilities(model, columns)[:, 1].astype(float), 0, 1)
    expected = -np.log(np.where(y == 1, chance, 1 - chance)).mean()

    method = loss(loss="LOGLOSS")
    found = losses(ask(model, columns, y, method, engine=engine, output_indices=[0, 1]))

    assert found == pytest.approx([expected] * 2, rel=1e-4)
    assert expected < 0.15


@pytest.mark.parametrize("engine", ENGINES)
def test_no_importance_of_a_good_classifier_is_far_below_zero(ask: Ask, engine: str) -> None:
    model, columns, y = read_case(CANCER)

    answer = ask(model, columns, y, {"permutation_importance": {}}, engine=engine)

    result = answer.explanations[0].permutation_importance
    values = np.array([one.values for one in result.importances])
    assert values.min() > -0.005
    assert values.max() > 0.005
    assert pairings(answer) == [("0", "0"), ("1", "1")]


BRIER = loss(sum_outputs=True)


@pytest.mark.parametrize(
    ("outputs", "labels"),
    [
        ((-1, 1), ("-1", "+1")),
        ((9, 10), ("9", "010")),
        ((5, 10), ("5", "1e1")),
        (("0.5", "1.50"), (0.5, 1.5)),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_classes_of_the_same_number_meet_however_they_are_spelled(
    ask: Ask, engine: str, outputs, labels
) -> None:
    """Sorted order swapped the first three: accuracy 0 in place of 1."""
    model, columns, y = read_case(CANCER)
    target = [labels[k] for k in y]
    expected = losses(ask(model, columns, y, BRIER, engine=engine))

    answer = ask(renamed(model, *outputs), columns, target, BRIER, engine=engine)
    swarm = ask(
        renamed(model, *outputs), columns, target, {"swarm": {"features": list(columns)[:1]}}
    )

    assert losses(answer) == expected
    assert expected[0] < 0.1
    assert swarm.explanations[0].swarm.baseline_score > 0.95
    assert pairings(answer) == pairings(swarm) == [
        (str(label), str(output)) for label, output in zip(labels, outputs, strict=True)
    ]  # fmt: skip


METHODS = [
    pytest.param(loss(), id="average_loss"),
    pytest.param({"permutation_importance": {"repeat_count": 1}}, id="permutation_importance"),
    pytest.param({"interactions": {"permutation_count": 9}}, id="p-values"),
    pytest.param({"swarm": {"particle_count": 2, "iteration_count": 1}}, id="swarm"),
]
FEW = slice(None, None, 4)  # of each class, as rows are sorted by it


def few(case: Path) -> tuple[ModelProto, dict[str, Any], Any]:
    model, columns, y = read_case(case)
    return model, {name: values[FEW] for name, values in columns.items()}, y[FEW]


@pytest.mark.parametrize("method", METHODS)
def test_renamed_classes_are_refused_unless_their_labels_are_given(ask: Ask, method) -> None:
    """`>50K` sorts after `<=50K`, but `affluent` before `regular`."""
    model, columns, y = few(CANCER)
    incomes = renamed(model, "regular", "affluent")
    target = np.array(["<=50K", ">50K"])[y]

    error = refusal(ask, incomes, columns, target, method)
    answer = ask(incomes, columns, target, method, class_labels=["<=50K", ">50K"])
    plain = ask(model, columns, y, method)

    assert error.reason is Reason.INVALID_OPTION
    assert "the target's classes are '<=50K', '>50K'" in error.message
    assert "the model's outputs are 'regular', 'affluent'" in error.message
    assert pairings(answer) == [("<=50K", "regular"), (">50K", "affluent")]
    assert numbers_of(answer) == pytest.approx(numbers_of(plain), nan_ok=True)


def numbers_of(answer: ExplainResponse) -> list[float]:
    explanation = answer.explanations[0]
    match explanation.WhichOneof("result"):
        case "average_loss":
            return losses(answer)
        case "permutation_importance":
            return [v for one in explanation.permutation_importance.importances for v in one.values]
        case "interactions":
            return [p for one in explanation.interactions.overall for p in one.p_values]
        case _:
            return [explanation.swarm.baseline_score]


@pytest.mark.parametrize("method", METHODS)
def test_a_class_that_the_model_does_not_know_is_refused(ask: Ask, method) -> None:
    model, columns, y = few(IRIS)
    target = SPECIES[y].tolist()
    target[3] = "germanica"

    error = refusal(ask, renamed(model, *SPECIES), columns, target, method)

    assert "no output has the name or the number of 'germanica'" in error.message


def test_a_subset_of_outputs_is_paired_among_all_of_them(ask: Ask) -> None:
    """Sorted order would pair the two classes of these rows with the two outputs."""
    model, columns, y = read_case(IRIS)
    rows = y > 0
    some = {name: values[rows] for name, values in columns.items()}
    method = loss(loss="SQUARED_ERROR")
    every = losses(ask(model, some, y[rows], method))

    answer = ask(model, some, y[rows], method, output_indices=[0, 1])

    assert losses(answer) == every[:2]
    assert pairings(answer) == [("1", "1"), ("2", "2")]


def test_p_values_of_one_output_compare_with_its_class(ask: Ask) -> None:
    model, columns, y = few(IRIS)
    method = {"interactions": {"permutation_count": 19}}
    whole = ask(model, columns, y, method).explanations[0].interactions
    alone = ask(model, columns, y, method, output_indices=[2]).explanations[0].interactions

    assert [one.p_values[0] for one in alone.overall] == [one.p_values[2] for one in whole.overall]


def test_the_only_output_is_compared_with_0_and_1(ask: Ask) -> None:
    model, columns, y = read_case(CANCER)
    alone = only_output(model)
    positive = losses(ask(model, columns, y, loss()))

    plain = ask(alone, columns, y, loss())
    named = ask(only_output(model, "yes"), columns, np.array(["no", "yes"])[y], loss())
    given = ask(
        alone, columns, np.array(["M", "B"])[y], loss(), class_labels=["M", "B"]
    )  # fmt: skip
    shares = ask(alone, columns, np.where(y == 1, 0.75, 0.25), loss())

    assert losses(plain) == pytest.approx(positive)
    assert losses(named) == losses(given) == losses(plain)
    assert pairings(plain) == [("0", ""), ("1", "chance")]
    assert pairings(named) == [("no", ""), ("yes", "yes")]
    assert pairings(given) == [("M", ""), ("B", "chance")]
    assert pairings(shares) == []
    assert "the negative class first" in refusal(ask, alone, columns, y + 1, loss()).message


def test_labels_as_scores_are_of_classes_too(ask: Ask) -> None:
    """A number of three species is no score: each species has one."""
    model, columns, y = few(IRIS)
    method = {"firm": {"features": ["petal_length"], "source": "LABELS"}}

    found = ask(model, columns, y, method).explanations[0]
    numbers = ask(
        model, columns, y, {"firm": method["firm"] | {"one_hot_target": False}}
    ).explanations[0]
    given = ask(model, columns, SPECIES[y], method, class_labels=SPECIES[::-1].tolist())

    assert list(found.firm.output_names) == ["y = 0", "y = 1", "y = 2"]
    assert found.options.firm.one_hot_target
    assert list(numbers.firm.output_names) == ["y"]
    assert list(given.explanations[0].firm.output_names) == [f"y = {s}" for s in SPECIES[::-1]]
    assert pairings(given) == [("virginica", "0"), ("versicolor", "1"), ("setosa", "2")]
    reversed_values = given.explanations[0].firm.importances[0].values[::-1]
    assert list(found.firm.importances[0].values) == pytest.approx(reversed_values)


def test_the_positive_class_that_is_given_is_the_score_of_labels(ask: Ask) -> None:
    model, columns, y = few(CANCER)
    method = {"firm": {"features": ["mean_radius"], "source": "LABELS"}}

    answer = ask(model, columns, y, method, class_labels=["1", "0"])

    assert list(answer.explanations[0].firm.output_names) == ["y = 0"]


def test_a_forest_of_labels_learns_classes(ask: Ask) -> None:
    model, columns, y = few(IRIS)
    method = {"source": "LABELS", "sentence_count": 200, "depth": 2}

    classes = ask(model, columns, y, {"feature_vectors": method}).explanations[0]
    text = ask(renamed(model, *SPECIES), columns, SPECIES[y], {"feature_vectors": method})
    numbers = ask(
        model, columns, y, {"feature_vectors": method | {"one_hot_target": False}}
    ).explanations[0]

    assert classes.options.feature_vectors.one_hot_target
    assert list(classes.feature_vectors.vectors) == list(
        text.explanations[0].feature_vectors.vectors
    )
    assert list(classes.feature_vectors.vectors) != list(numbers.feature_vectors.vectors)


def test_class_labels_without_a_target_are_refused(ask: Ask) -> None:
    model, columns, y = few(CANCER)

    error = refusal(
        ask, model, columns, y, {"interactions": {}}, target_column="", class_labels=["0", "1"]
    )

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, "class_labels")
    assert "there is none" in error.message


def test_class_labels_are_checked_also_where_no_method_compares_classes(ask: Ask) -> None:
    model, columns, y = few(CANCER)
    method = {"partial_dependence": {"features": [{"names": ["mean_radius"]}]}}

    error = refusal(ask, model, columns, y, method, class_labels=["0", "2"])

    assert error.field == "class_labels"
    assert "the target holds '1', which is not in class_labels" in error.message
    assert pairings(ask(model, columns, y, method, class_labels=["0", "1"])) == []


def test_a_regressor_compares_numbers(ask: Ask) -> None:
    """Whole ones too, and classes only where it is told of them."""
    case = GOLDEN / "case_friedman1_gbr"
    model, columns, y = read_case(case)

    answer = ask(model, columns, y, loss())

    assert not answer.model.has_class_scores
    assert not answer.explanations[0].options.average_loss.one_hot_target
    assert pairings(answer) == []
