"""FIRM through the use case and through messages: models, labels, contrasts, sequences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.firm_pb2 import FirmOptions, FirmResult
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.effects.quantiles import inverse_ecdf

Ask = Callable[..., ExplainResponse]
ROWS = 400
RANDOM = np.random.default_rng(0)
X, E, Z = RANDOM.normal(size=(3, ROWS))
COLUMNS: dict[str, Any] = {
    "x": X,
    "z": 0.6 * X + 0.8 * Z,
    "unused": 0.8 * X + 0.6 * E,
    "kind": ["ab"[int(v > 0)] for v in X],
    "label": X + E,
    "class": [["low", "mid", "high"][int(v > -0.5) + int(v > 0.5)] for v in X],
    "w": RANDOM.uniform(0, 1, ROWS).round(),
}


class Host:
    """Surroundings that remember nothing."""

    def advance(self, done: float, planned: float) -> None:
        assert done <= planned + 1e-9

    def write_table(self, parts: object) -> None: ...

    def publish(self, part: bytes) -> None:
        raise AssertionError

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def cache_get(self, names: Sequence[str]) -> list[None]:
        return [None] * len(names)

    def cache_put(self, _entries: Mapping[str, bytes]) -> None: ...


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def ask(runner: InProcess) -> Ask:
    def asked(
        model: ModelProto | None,
        columns: Mapping[str, Any] = COLUMNS,
        request: dict[str, Any] | None = None,
        **options,
    ) -> ExplainResponse:
        message = ExplainRequest(
            methods=[MethodOptions(firm=FirmOptions(**options))], **(request or {})
        )
        if model is not None:
            message.model.CopyFrom(Model(content=model.SerializeToString()))
        if columns:
            message.table.CopyFrom(table(columns))
        answer = runner.answer(
            Call(ServiceMethod.EXPLAIN, message.SerializeToString()), Host()
        ).content
        return ExplainResponse.FromString(answer)

    return asked  # fmt: skip


def table(columns: Mapping[str, Any]) -> Table:
    return Table(
        columns=Columns(
            columns=[
                Column(name=n, **{"strings" if isinstance(v[0], str) else "numbers": v})
                for n, v in columns.items()
            ]
        )
    )


def model(nodes: list[Any], width: int, outputs: int = 1, **constants: np.ndarray) -> ModelProto:
    """Make a model of one matrix, whose last node gives "y"."""
    graph = helper.make_graph(
        nodes,
        "made",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", outputs])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def linear(weights: np.ndarray) -> ModelProto:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return model([node], len(weights), weights.shape[1], w=weights)


def kernel_machine(centers: np.ndarray, weights: np.ndarray, gamma: float) -> ModelProto:
    """The sum of weights · exp(-|x - center|² / γ²)."""
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axis"], ["wide"]),
        helper.make_node("Sub", ["wide", "centers"], ["apart"]),
        helper.make_node("Mul", ["apart", "apart"], ["squared"]),
        helper.make_node("ReduceSum", ["squared", "last"], ["distance"], keepdims=0),
        helper.make_node("Div", ["distance", "minus"], ["scaled"]),
        helper.make_node("Exp", ["scaled"], ["kernel"]),
        helper.make_node("MatMul", ["kernel", "weights"], ["y"]),
    ]
    made = model(
        nodes,
        centers.shape[1],
        centers=centers[None],
        weights=weights,
        minus=np.array([-(gamma**2)]),
    )
    made.graph.initializer.extend(
        [
            numpy_helper.from_array(np.array([1], dtype=np.int64), "axis"),
            numpy_helper.from_array(np.array([2], dtype=np.int64), "last"),
        ]
    )
    return made


BOTH = {"feature_columns": ["x", "z"]}
PREDICTED = BOTH | {"engine": "BLACK_BOX"}
SUM = linear(np.array([[1.0], [2.0]]))


def firm(answer: ExplainResponse) -> FirmResult:
    return answer.explanations[0].firm


def values(answer: ExplainResponse) -> list[float]:
    return [one.values[0] for one in firm(answer).importances]


def codes(answer) -> list[str]:
    return [warning.code for warning in answer.warnings]


def test_each_row_is_predicted_once_for_all_features_together(ask: Ask) -> None:
    answer = ask(SUM, request=PREDICTED, features=["x", "unused", "x > 0 and z > 0", "kind"])

    assert answer.receipt.predicted_row_count == ROWS
    assert answer.receipt.row_count == ROWS
    assert codes(answer) == []
    assert [one.feature for one in firm(answer).importances][2] == "x > 0 and z > 0"
    assert [plot.name for plot in answer.explanations[0].plots] == ["firm", "firm-curves"]


def test_every_column_that_the_model_takes_is_a_feature_by_default(ask: Ask) -> None:
    answer = ask(SUM, request=BOTH)

    assert list(answer.explanations[0].options.firm.features) == ["x", "z"]


def test_a_column_that_the_model_ignores_has_importance(ask: Ask) -> None:
    """Q of a column is its covariance with the score, over its own standard deviation."""
    score = X + 2 * COLUMNS["z"]
    expected = [np.cov(COLUMNS[n], score, ddof=0)[0, 1] / COLUMNS[n].std() for n in ("z", "unused")]

    for estimator in ("SLOPE", "GAUSSIAN", "TAYLOR"):
        answer = ask(SUM, request=BOTH, features=["z", "unused"], estimator=estimator)
        assert values(answer) == pytest.approx(expected, rel=1e-5)


def test_importances_follow_rows_that_are_moved_with_the_model(ask: Ask) -> None:
    """X is multiplied by 8 and shifted by 3 in the table, and the model told so."""
    moved = {**COLUMNS, "x": 8 * X + 3}
    told = linear(np.array([[1 / 8], [2.0]]))

    for options in ({}, {"estimator": "SLOPE"}, {"estimator": "SMOOTH"}, {"estimator": "TAYLOR"}):
        before = ask(SUM, request=BOTH, features=["x", "x * z"][: 1 + (not options)], **options)
        after = ask(told, moved, request=BOTH, features=["x"], **options)
        assert values(after)[0] == pytest.approx(values(before)[0], rel=1e-6)


def test_rows_of_weight_0_are_no_rows(ask: Ask) -> None:
    """They come last, because the numbers of the other rows decide how these are resampled."""
    order, count = np.argsort(COLUMNS["w"] == 0, kind="stable"), int((COLUMNS["w"] > 0).sum())
    columns = {name: [values[row] for row in order] for name, values in COLUMNS.items()}
    left = {name: values[:count] for name, values in columns.items()}
    asked = {"features": ["x", "kind", "unused"], "repeat_count": 20}

    weighted = ask(SUM, columns, request=PREDICTED | {"weight_column": "w"}, **asked)
    without = ask(SUM, left, request=BOTH, **asked)

    assert values(weighted) == pytest.approx(values(without))
    assert weighted.receipt.predicted_row_count == count
    errors = [one.standard_errors[0] for one in firm(weighted).importances]
    assert errors == pytest.approx([one.standard_errors[0] for one in firm(without).importances])


def test_only_as_many_rows_are_used_as_asked_for(ask: Ask) -> None:
    answer = ask(SUM, request=PREDICTED | {"row_count": 100}, repeat_count=10)

    assert answer.receipt.row_count == 100
    assert answer.receipt.predicted_row_count == 100
    assert codes(answer) == ["ROWS_DRAWN"]
    assert sum(firm(answer).importances[0].curve.shares) == pytest.approx(1)


def test_all_rows_are_used_also_where_other_methods_draw_some(ask: Ask) -> None:
    many = {name: np.tile(COLUMNS[name], 2) for name in ("x", "z")}

    answer = ask(SUM, many, features=["x"])

    assert answer.receipt.row_count == 2 * ROWS
    assert "ROWS_DRAWN" not in codes(answer)


def test_beside_other_methods_it_still_uses_all_rows(runner: InProcess) -> None:
    request = ExplainRequest(
        model=Model(content=SUM.SerializeToString()),
        table=table(COLUMNS),
        row_count=50,
        feature_columns=["x", "z"],
        target_column="label",
        methods=[{"firm": {"features": ["x"]}}, {"average_loss": {}}],
    )
    alone = ExplainRequest()
    alone.CopyFrom(request)
    del alone.methods[1]

    both, one = (
        ExplainResponse.FromString(
            runner.answer(Call(ServiceMethod.EXPLAIN, r.SerializeToString()), Host()).content
        )
        for r in (request, alone)
    )

    assert values(both) == pytest.approx(values(one), rel=1e-6)


def test_the_gradient_of_a_kernel_machine_is_that_of_its_formula(ask: Ask) -> None:
    """Equation 9, with the sum over kernels worked out by hand."""
    random = np.random.default_rng(3)
    centers, weights, gamma = random.normal(size=(12, 2)), random.normal(size=(12, 1)), 1.7
    rows = np.stack([X, COLUMNS["z"]], axis=1)
    mean, sigma = rows.mean(axis=0), np.cov(rows.T, ddof=0)
    kernels = np.exp(-((mean - centers) ** 2).sum(axis=1) / gamma**2)[:, None]
    gradient = (weights * kernels * 2 / gamma**2 * (centers - mean)).sum(axis=0)
    expected = np.abs(sigma @ gradient) / np.sqrt(np.diag(sigma))

    answer = ask(kernel_machine(centers, weights, gamma), request=BOTH, estimator="TAYLOR")

    assert values(answer) == pytest.approx(expected, rel=2e-4)


def test_labels_are_scores_too_and_stand_side_by_side(ask: Ask) -> None:
    request = BOTH | {"target_column": "label"}
    both = firm(ask(SUM, request=request, features=["x", "kind"], source="BOTH"))
    labels = ask(SUM, request=request, features=["x", "kind"], source="LABELS")
    predictions = ask(SUM, request=request, features=["x", "kind"])

    assert list(both.output_names) == ["y", "label"]
    # Predictions are float32, whose last digit follows the size of calls.
    found = np.array([one.values for one in both.importances])
    assert found[:, 0] == pytest.approx(values(predictions), rel=1e-6)
    assert found[:, 1] == pytest.approx(values(labels))
    assert labels.receipt.predicted_row_count == 0
    assert values(labels)[1] == pytest.approx(
        COLUMNS["label"][X > 0].mean() * (p := (X > 0).mean()) ** 0.5 * (1 - p) ** 0.5
        - COLUMNS["label"][X <= 0].mean() * p**0.5 * (1 - p) ** 0.5
    )


def test_classes_become_one_score_each_or_one_alone_where_there_are_two(ask: Ask) -> None:
    many = firm(ask(SUM, request=BOTH | {"target_column": "class"}, source="LABELS"))
    two = firm(ask(SUM, request=BOTH | {"target_column": "kind"}, source="LABELS"))

    assert list(many.output_names) == ["class = high", "class = low", "class = mid"]
    assert list(two.output_names) == ["kind = b"]
    assert two.mean_scores[0] == pytest.approx((X > 0).mean())


def test_several_outputs_have_a_number_each(ask: Ask) -> None:
    pair = linear(np.array([[1.0, 0.0], [0.0, -3.0]]))

    answer = firm(ask(pair, request=BOTH, features=["x", "z"], estimator="GAUSSIAN"))
    second = ask(pair, request=BOTH | {"output_indices": [1]}, estimator="GAUSSIAN")

    assert answer.importances[0].values[0] == pytest.approx(X.std())
    assert [one.values[1] for one in answer.importances] == pytest.approx(values(second))


def test_other_measures_stand_beside_and_do_not_see_what_goes_along(ask: Ask) -> None:
    machine = linear(np.array([[1.5], [0.0]]))
    answer = ask(
        machine,
        request=BOTH,
        features=["x", "z", "unused", "x * z"],
        contrasts=["PARTIAL_DEPENDENCE", "SENSITIVITY", "WEIGHT"],
    )
    contrast = FirmOptions.Contrast.Name
    found = {(contrast(c.contrast), c.feature): c.values[0] for c in firm(answer).contrasts}

    assert {feature for _, feature in found} == {"x", "z"}
    assert found["WEIGHT", "x"] == pytest.approx(1.5, rel=1e-6)
    assert found["SENSITIVITY", "x"] == pytest.approx(1.5 * X.std(), rel=1e-5)
    grid = np.unique(inverse_ecdf(X, np.linspace(0.01, 0.99, 49)))
    measured = found["PARTIAL_DEPENDENCE", "x"]
    assert measured == pytest.approx(1.5 * grid.std(ddof=1), rel=2e-3)
    assert [found[c, "z"] for c in ("PARTIAL_DEPENDENCE", "SENSITIVITY", "WEIGHT")] == [
        pytest.approx(0, abs=1e-6)
    ] * 3
    assert abs(values(answer)[1]) > 0.5


def test_pairs_of_literals_are_all_there_once(ask: Ask) -> None:
    pairs = [{"features": ["x > 0", "z > 0", "kind == 'a'"], "include_negations": True}]
    answer = ask(SUM, request=BOTH, pairs=pairs)
    texts = [one.feature for one in firm(answer).importances]

    assert len(texts) == len(set(texts)) == 6 + 12
    assert "not (x > 0) and (z > 0)" in texts
    assert "firm-pairs-conjunction" in [plot.name for plot in answer.explanations[0].plots]


@pytest.mark.parametrize(
    ("combination", "text"),
    [
        ("DISJUNCTION", "x or `a b`"),
        ("EXCLUSIVE_OR", "xor(x, `a b`)"),
        ("PRODUCT", "x * `a b`"),
        ("CONJUNCTION", "x and `a b`"),
    ],
)
def test_pairs_name_columns_so_that_they_are_read_again(
    ask: Ask, combination: str, text: str
) -> None:
    columns = {"x": [0.0, 1, 0, 1], "a b": [0.0, 0, 1, 1]}
    pairs = [{"features": ["x", "a b"], "combination": combination}]

    answer = ask(SUM, columns, pairs=pairs)

    assert [one.feature for one in firm(answer).importances] == ["x", "a b", text]


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"features": ["x", "y + 1"]}, "features[1]", "no column 'y'"),
    ({"features": ["kind +"]}, "features[0]", "at position"),
    ({"features": ["x", "z", "x"]}, "features", "'x' is named twice"),
    ({"estimator": "GAUSSIAN", "source": "LABELS"}, "estimator", "source must be MODEL"),
    ({"source": "LABELS"}, "target_column", "no target"),
    ({"bin_count": 1}, "bin_count", "bin_count is 1"),
    ({"repeat_count": 3}, "repeat_count", "repeat_count is 3"),
    ({"contrasts": ["WEIGHT", "WEIGHT"]}, "contrasts", "named twice"),
    ({"pairs": [{"features": ["x"]}]}, "pairs[0].features", "at least 2"),
    (
        {"pairs": [{"features": ["x", "z"], "combination": "PRODUCT", "include_negations": True}]},
        "pairs[0].include_negations",
        "no negations",
    ),
    ({"sequences": {}, "bin_count": 5}, "bin_count", "cannot stand beside sequences"),
]


@pytest.mark.parametrize(("options", "field", "told"), REFUSED)
def test_what_cannot_be_is_refused_at_its_field(
    ask: Ask, options: dict[str, Any], field: str, told: str
) -> None:
    with pytest.raises(ExplainError, match=told.replace("+", "\\+")) as caught:
        ask(SUM, request=BOTH, **options)

    assert caught.value.field.endswith(field)


def test_a_model_that_is_not_linear_has_no_weights(ask: Ask) -> None:
    machine = kernel_machine(np.eye(2), np.ones((2, 1)), 1.0)

    for options in ({"estimator": "GAUSSIAN"}, {"contrasts": ["WEIGHT"]}):
        with pytest.raises(ExplainError, match="not linear"):
            ask(machine, request=BOTH, **options)


def test_closed_forms_need_columns_without_gaps(ask: Ask) -> None:
    with pytest.raises(ExplainError, match="none missing"):
        ask(SUM, {"x": [1.0, np.nan, 2], "z": [1.0, 2, 3]}, estimator="TAYLOR")


LENGTH = 12
LETTERS = np.random.default_rng(9).normal(size=(LENGTH, 4, 1))
WEIGHTS = {
    "kmers": list("ACGT") * LENGTH,
    "positions": np.repeat(range(LENGTH), 4).tolist(),
    "values": LETTERS.ravel().tolist(),
}


def strings(answer: ExplainResponse) -> list[np.ndarray]:
    return [np.array(kmers.importances) for kmers in firm(answer).sequences.kmers]


@pytest.mark.parametrize("layout", ["POSITION_MAJOR", "LETTER_MAJOR"])
def test_a_sum_over_letters_is_read_from_the_model(ask: Ask, layout: str) -> None:
    major = LETTERS if layout == "POSITION_MAJOR" else LETTERS.transpose(1, 0, 2)
    machine = linear(major.reshape(-1, 1))

    sequences = {"layout": layout, "motifs": ["GAT"]}
    read = ask(machine, {}, request={"engine": "BLACK_BOX"}, sequences=sequences)
    given = ask(None, {}, sequences={"weights": WEIGHTS, "motifs": ["GAT"]})

    assert firm(read).sequences.is_exact
    assert firm(read).sequences.length == LENGTH
    assert read.receipt.predicted_row_count == 1 + LENGTH * 3 + 64
    for one, other in zip(strings(read), strings(given), strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    assert given.receipt.predicted_row_count == 0
    assert given.receipt.model_digest == ""
    assert [plot.name for plot in read.explanations[0].plots] == [
        "firm-motif-GAT",
        "firm-kmers-1",
        "firm-kmers-3",
    ]


def test_any_other_model_is_sampled_with_standard_errors(ask: Ask) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    machine = model(nodes, 4 * LENGTH, w=LETTERS.reshape(-1, 1))

    answer = ask(machine, {}, sequences={"max_length": 2, "motifs": ["GAT"], "sample_count": 5000})

    assert not firm(answer).sequences.is_exact
    assert codes(answer) == ["SEQUENCES_SAMPLED"]
    assert len(firm(answer).sequences.kmers[1].standard_errors) == 16 * (LENGTH - 1)
    asked = 1 + LENGTH * 3 + 64 + 5000 + 2 * 50 * 4 * (LENGTH - 2)
    assert answer.receipt.predicted_row_count == asked


def test_a_background_is_fitted_to_a_column(ask: Ask) -> None:
    texts = ["ACGTACGTACGT", "AAAACCCCGGGG", "", "TTTTTTTTTTTT"]
    answer = ask(
        None,
        {"s": texts},
        sequences={"column": "s", "background": {"order": 1}, "weights": WEIGHTS},
    )
    given = firm(answer).sequences.background

    again = ask(
        None,
        {},
        sequences={
            "background": {"initial": given.initial, "transitions": given.transitions},
            "weights": WEIGHTS,
        },
    )

    rows = answer.explanations[0].rows
    assert (rows.drawn_row_count, rows.used_row_count, rows.weight) == (4, 3, 3)
    assert not again.explanations[0].HasField("rows")
    assert given.transitions[0] == pytest.approx((3 + 1) / (3 + 3 + 1 + 4))
    for one, other in zip(strings(answer), strings(again), strict=True):
        assert one == pytest.approx(other)


REFUSED_SEQUENCES: list[tuple[dict[str, Any], Any, str, Reason]] = [
    ({}, None, "no model", Reason.INVALID_REQUEST),
    ({"length": 5}, "linear", "takes 48 columns", Reason.INVALID_OPTION),
    ({"alphabet": "ABCDE"}, "linear", "takes 48 columns", Reason.INVALID_OPTION),
    ({"column": "t", "background": {"order": 1}}, "linear", "no column 't'", Reason.MISSING_COLUMN),
    ({"column": "n", "background": {"order": 1}}, "linear", "holds no text", Reason.WRONG_TYPE),
    ({"column": "s", "background": {"order": 8}}, "linear", "long enough", Reason.INVALID_TABLE),
    ({"column": "s", "alphabet": "AC"}, "linear", "has 'G' in row 0", Reason.INVALID_TABLE),
    ({"weights": WEIGHTS, "length": 4}, None, "a weight ends after", Reason.INVALID_OPTION),
    (
        {"column": "s", "background": {"order": 0, "transitions": [0.25] * 4}},
        "linear",
        "either given or fitted",
        Reason.INVALID_OPTION,
    ),
]


@pytest.mark.parametrize(("options", "machine", "told", "reason"), REFUSED_SEQUENCES)
def test_sequences_that_cannot_be_are_refused(
    ask: Ask, options: dict[str, Any], machine: str | None, told: str, reason: Reason
) -> None:
    made = linear(LETTERS.reshape(-1, 1)) if machine else None
    with pytest.raises(ExplainError, match=told) as caught:
        ask(made, {"s": ["ACG", "GAT"], "n": [1.0, 2.0]}, sequences=options)
    assert caught.value.reason is reason


def test_sequences_stand_alone(runner: InProcess) -> None:
    methods: list[Any] = [{"firm": {"sequences": {"weights": WEIGHTS}}}, {"average_loss": {}}]
    request = ExplainRequest(
        model=Model(content=SUM.SerializeToString()), table=table(COLUMNS), methods=methods
    )

    with pytest.raises(ExplainError, match="send two requests"):
        runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), Host())


def test_the_dimension_that_tells_classes_apart_comes_first_and_noise_last(ask: Ask) -> None:
    """Section 3.2: two Gaussian classes, apart by 1 in x1, by 3 in x2, by nothing in x3."""
    random = np.random.default_rng(7)
    labels = np.repeat([-1.0, 1.0], 200)
    rows = random.normal(size=(400, 3)) + np.outer(labels, [0.5, 1.5, 0.0])
    # The best linear machine is the difference of the means, since all columns are alike.
    weights = (rows[labels > 0].mean(axis=0) - rows[labels < 0].mean(axis=0))[:, None]
    columns = dict(zip(["x1", "x2", "x3"], rows.T, strict=True))

    for estimator in ("SLOPE", "BINNED", "GAUSSIAN", "SMOOTH"):
        answer = firm(ask(linear(weights), columns, estimator=estimator, repeat_count=100))
        first, second, noise = answer.importances
        assert second.values[0] > first.values[0] > abs(noise.values[0])
        assert second.lower[0] > first.upper[0]
        assert noise.lower[0] < 0.3


@pytest.mark.parametrize("estimator", ["GAUSSIAN", "TAYLOR"])
def test_a_closed_form_refuses_a_column_beside_the_models_with_missing_values(
    ask: Ask, estimator: str
) -> None:
    columns = {**COLUMNS, "g": np.where(np.arange(len(X)) == 3, np.nan, 1.0 * np.arange(len(X)))}

    with pytest.raises(ExplainError, match=r"without missing or infinite values.*'g'"):
        ask(SUM, columns, request=BOTH, features=["x", "g"], estimator=estimator)


def test_columns_whose_deviation_the_models_type_cannot_hold_have_a_gradient_all_the_same(
    ask: Ask,
) -> None:
    """Nearly all weight on one row: steps of a share of the deviation would vanish in float32."""
    columns = {**COLUMNS, "w": np.where(np.arange(len(X)) == 3, 1e12, 1e-12)}
    request = BOTH | {"weight_column": "w"}

    for estimator in ("GAUSSIAN", "TAYLOR"):
        answer = ask(linear(np.ones((2, 1))), columns, request=request, estimator=estimator)
        assert np.isfinite(values(answer)).all()
