"""The swarm through the use case and through messages: exact, published, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain.results.canonical_json import to_json
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.plan_pb2 import ExplanationPlan
from onnxplain.v1.swarm_pb2 import SwarmEffect, SwarmOptions, SwarmResult
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.methods.swarm import Options, Search, SearchSettings
from sklearn.datasets import load_iris

MODELS = Path(__file__).parents[1] / "models"
IRIS = load_iris()
NAMES: list[str] = list(IRIS.feature_names)
X, Y = IRIS.data, IRIS.target
CLASSES = {"0": 0, "1": 1, "2": 2, "setosa": 0, "versicolor": 1, "virginica": 2}

EXACT_MODELS = [
    "catboost_3class",
    "lightgbm_3class",
    "sklearn_gradient_boosting_3class",
    "sklearn_hist_gradient_boosting_3class",
    "sklearn_linear_svc",
    "sklearn_logistic_3class",
    "sklearn_logistic_3class_double",
    "sklearn_random_forest_3class",
    "xgboost_3class",
]
CLASS_LABELS = {
    name: ["0", "1", "2"]
    for name in (*EXACT_MODELS, "sklearn_network_3class", "sklearn_one_versus_rest")
    if name.startswith("sklearn")
}
"""Outputs of these are called like the species, whose numbers the target holds."""
QUICK = {"particle_count": 4, "iteration_count": 5}

Ask = Callable[..., ExplainResponse]


def iris(**more) -> Table:
    columns = [Column(name=name, numbers=X[:, j]) for j, name in enumerate(NAMES)]
    columns.append(Column(name="class", numbers=more.pop("y", Y)))
    for name, values in more.items():
        columns.append(Column(name=name, **{kind_of(values): values}))
    return Table(columns=Columns(columns=columns))


def kind_of(values) -> str:
    return "strings" if isinstance(values[0], str) else "numbers"


@pytest.fixture(scope="module")
def runners() -> Iterator[dict[int, InProcess]]:
    made = {threads: InProcess(threads) for threads in (1, 2)}
    yield made
    for runner in made.values():
        runner.close()


@pytest.fixture
def ask(runners: dict[int, InProcess], make) -> Ask:
    """Ask for the swarm as a transport does."""

    def asked(name: str, table: Table | None = None, threads: int = 2, **given):
        about = ("target_column", "feature_columns", "row_count", "weight_column", "seed", "engine",
                 "output_indices")  # fmt: skip
        question = {name: given.pop(name) for name in about if name in given}
        request = ExplainRequest(
            model=Model(content=(MODELS / f"{name}.onnx").read_bytes()),
            table=table or iris(),
            methods=[MethodOptions(swarm=SwarmOptions(**given))],
            **{"target_column": "class", "feature_columns": NAMES, **question},
            class_labels=CLASS_LABELS.get(name, ()),
        )
        answer = (
            runners[threads]
            .answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host())
            .content
        )
        return ExplainResponse.FromString(answer)

    return asked


def of(answer: ExplainResponse) -> SwarmResult:
    return answer.explanations[0].swarm


def effects(answer: ExplainResponse) -> list[SwarmEffect]:
    return list(of(answer).effects)


def codes(answer: ExplainResponse) -> list[str]:
    warnings: list[Any] = list(answer.warnings)
    return [warning.code for warning in warnings]


def refusal(ask: Ask, *args, **given) -> ExplainError:
    with pytest.raises(ExplainError) as caught:
        ask(*args, **given)
    return caught.value


class Truth:
    """The model itself, asked one weight at a time."""

    def __init__(self, name: str) -> None:
        self.model = load((MODELS / f"{name}.onnx").read_bytes())
        double = self.model.inputs[0].type == "double"
        self.kind: Any = np.float64 if double else np.float32

    def predict(self, effect: SwarmEffect, weight: float):
        """Classes of all rows, those of the effect's class moved as a user would move them."""
        moved = X.astype(self.kind)
        rows, j = CLASSES[effect.class_name] == Y, NAMES.index(effect.feature)
        moved[rows, j] = self.kind(weight) * moved[rows, j]
        (taken,) = self.model.inputs
        return self.model.predict({taken.name: moved}).argmax(axis=1)

    def score(self, effect: SwarmEffect, weight: float) -> float:
        return float((self.predict(effect, weight) == Y).mean())


@pytest.mark.parametrize("name", EXACT_MODELS)
def test_the_exact_curve_is_what_the_model_does_at_every_weight(name: str, ask: Ask) -> None:
    """At random weights, at each step, and at the last number before each step."""
    answer, truth = ask(name), Truth(name)
    random = np.random.default_rng(1)

    assert answer.explanations[0].options.swarm.search == SwarmOptions.EXACT
    for effect in effects(answer):
        steps = np.array(effect.curve.weights)
        ends = np.nextafter(steps[1:8].astype(truth.kind), truth.kind(0)).astype(float)
        for weight in [*random.uniform(0, 10, 5), *steps[:8], *ends]:
            place = np.searchsorted(steps, truth.kind(weight), side="right") - 1
            assert effect.curve.scores[place] == pytest.approx(truth.score(effect, weight))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xgboost_3class", "sklearn_random_forest_3class"])
def test_the_exact_optimum_is_no_worse_than_that_of_40_swarms(name: str, ask: Ask) -> None:
    exact = effects(ask(name))
    tried = effects(ask(name, search="PUBLISHED", restart_count=40, iteration_count=12))

    for best, found in zip(exact, tried, strict=True):
        assert best.best_score <= found.best_score + 1e-12
        if best.best_score == found.best_score:
            assert abs(best.best_weight - 1) <= abs(found.best_weight - 1) + 1e-12


@pytest.mark.parametrize("name", ["xgboost_3class", "sklearn_logistic_3class"])
def test_the_optimum_holds_on_its_whole_range_and_not_beside_it(name: str, ask: Ask) -> None:
    truth = Truth(name)
    for effect in effects(ask(name)):
        optimum = effect.optimum
        assert optimum.weight == min(max(1.0, optimum.low), optimum.high)
        for weight in (optimum.low, optimum.weight, optimum.high):
            assert truth.score(effect, weight) == pytest.approx(optimum.score)
        if optimum.low > 0:
            earlier = float(np.nextafter(truth.kind(optimum.low), truth.kind(0)))
            assert truth.score(effect, earlier) > optimum.score + 1e-9


def test_slivers_are_told_apart_from_the_best_optimum_that_holds_for_a_while(ask: Ask) -> None:
    exact = effects(ask("xgboost_3class", sliver_width=0.0))
    wide = effects(ask("xgboost_3class", sliver_width=1.5))

    for sharp, stable in zip(exact, wide, strict=True):
        assert sharp.stable_optimum == sharp.optimum == stable.optimum
        assert stable.stable_optimum.score >= stable.optimum.score
    narrow = [e for e in wide if e.optimum.high - e.optimum.low < 1.5]
    assert narrow
    assert all(e.stable_optimum.weight != e.optimum.weight for e in narrow)


def test_predictions_of_the_exact_search_are_next_to_none(ask: Ask) -> None:
    answer = ask("xgboost_3class")

    assert answer.receipt.predicted_row_count <= 150 * (1 + 2 * 4)


@pytest.mark.parametrize("more", [{}, {"row_indices": [3, 70, 140]}], ids=["classes", "rows"])
def test_the_rows_that_confirm_exact_steps_are_planned(more, ask: Ask, runners, make) -> None:
    answer = ask("xgboost_3class", **more)
    request = ExplainRequest(
        model=Model(content=(MODELS / "xgboost_3class.onnx").read_bytes()),
        table=iris(),
        methods=[MethodOptions(swarm=SwarmOptions(**more))],
        target_column="class",
        feature_columns=NAMES,
    )
    reply = (
        runners[2]
        .answer(Call(ServiceMethod.PLAN, request.SerializeToString()), make.host())
        .content
    )
    (method,) = ExplanationPlan.FromString(reply).methods

    assert not method.is_exact
    assert answer.receipt.predicted_row_count <= method.predicted_row_count
    assert method.predicted_row_count <= 2 * answer.receipt.predicted_row_count


def test_the_default_is_to_try_weights_where_nothing_else_is_possible(ask: Ask) -> None:
    answer = ask("sklearn_network_3class", **QUICK)

    assert answer.explanations[0].options.swarm.search == SwarmOptions.PUBLISHED
    assert set(codes(answer)) == {"NOT_EXACT", "EXTRAPOLATES"}


def test_probabilities_that_round_to_1_one_by_one_are_not_read_exactly(ask: Ask) -> None:
    assert "round to 1" in refusal(ask, "sklearn_one_versus_rest", search="EXACT").message


def test_the_engine_black_box_reads_no_trees(ask: Ask) -> None:
    answer = ask("xgboost_3class", engine=ExplainRequest.BLACK_BOX, **QUICK)

    assert answer.explanations[0].options.swarm.search == SwarmOptions.PUBLISHED


@pytest.mark.parametrize("search", ["PUBLISHED", "DIFFERENTIAL_EVOLUTION"])
def test_what_is_found_is_what_the_model_does(search: str, ask: Ask) -> None:
    truth = Truth("xgboost_3class")
    for effect in effects(ask("xgboost_3class", search=search, iteration_count=8)):
        assert truth.score(effect, effect.best_weight) == pytest.approx(effect.best_score)
        for i in range(0, len(effect.curve.weights), 25):
            score = truth.score(effect, effect.curve.weights[i])
            assert effect.curve.scores[i] == pytest.approx(score)


@pytest.mark.parametrize("given", [{}, {"search": "PUBLISHED", **QUICK}])
def test_the_answer_is_the_same_on_any_number_of_threads(given, ask: Ask) -> None:
    one, two = (of(ask("xgboost_3class", threads=threads, **given)) for threads in (1, 2))

    assert one == two


def test_the_answer_depends_on_the_seed_alone(ask: Ask) -> None:
    first, again, other = (
        of(ask("xgboost_3class", search="PUBLISHED", seed=seed, **QUICK)) for seed in (0, 0, 1)
    )

    assert first == again
    assert first != other


def test_a_features_numbers_do_not_depend_on_which_others_are_asked_for(ask: Ask) -> None:
    given: Any = {"search": "PUBLISHED", **QUICK}
    every = effects(ask("xgboost_3class", **given))
    (alone,) = effects(ask("xgboost_3class", features=[NAMES[2]], classes=["1"], **given))

    (same,) = [e for e in every if (e.class_name, e.feature) == ("1", NAMES[2])]
    assert alone.curve == same.curve


def test_the_answer_is_the_same_for_any_size_of_calls(make) -> None:
    def answer(size: int):
        columns = {"a": X[:, 2], "b": X[:, 3], "y": np.array(["y0", "y1", "y1"], object)[Y]}
        model = make.model(
            lambda a, b: np.stack([a < b * 2, a >= b * 2], axis=1), ["a", "b"], ["double"] * 2,
            n_outputs=2,
        )  # fmt: skip
        options = Options(search=Search.PUBLISHED, search_settings=SearchSettings(5, 12))
        asked = {"target_column": "y", "batch_size": make.batch_size(size)}
        return model, make.answer(model, make.table(columns), options, **asked)

    (model, small), (_, large) = answer(16), answer(4_000)

    found = [one.explanations[0].result for one in (small, large)]
    tried = [[e.search_result.curve.scores.tolist() for e in one.effects] for one in found]
    assert tried[0] == tried[1]
    assert max(model.calls) < 16 + 16


def test_no_weight_is_predicted_twice_and_only_the_rows_of_the_class_again(make) -> None:
    columns = {"a": X[:, 2], "y": np.array(["y0", "y1", "y1"], object)[Y]}
    seen: list[float] = []

    def watched(a):
        seen.extend(a.tolist())
        return np.stack([a < 2.5, a >= 2.5], axis=1)

    model = make.model(watched, ["a"], ["double"], n_outputs=2)
    options = Options(
        search=Search.PUBLISHED, classes=("y0",), search_settings=SearchSettings(6, 20)
    )
    host = make.host()
    answer = make.answer(model, make.table(columns), options, target_column="y", host=host)

    (effect,) = answer.explanations[0].result.effects
    weights = effect.search_result.curve.lows
    assert len(np.unique(weights)) == len(weights)
    # All rows once, and the 50 of the class for each weight but 1.
    assert len(seen) == 150 + 50 * (len(weights) - 1) == answer.predicted_row_count
    assert host.progress[-1][0] == host.progress[-1][1]


def test_progress_never_plans_more_than_before(make, ask: Ask) -> None:
    columns = {"a": X[:, 2], "y": np.array(["y0", "y1", "y1"], object)[Y]}
    model = make.model(lambda a: np.stack([a < 2.5, a >= 2.5], axis=1), ["a"], ["double"],
                       n_outputs=2)  # fmt: skip
    host = make.host()

    make.answer(model, make.table(columns), Options(), target_column="y", host=host)

    planned = [plan for _, plan in host.progress if plan]
    assert planned == sorted(planned, reverse=True)


def test_similarities_are_the_means_over_features(ask: Ask) -> None:
    result = of(ask("xgboost_3class"))
    similarity = np.array(result.similarity).reshape(3, 3)

    for k, name in enumerate(result.class_names):
        own = [e.class_similarities for e in result.effects if e.class_name == name]
        assert similarity[k] == pytest.approx(np.mean(own, axis=0))
    assert similarity.sum(axis=1) == pytest.approx(1)


def test_integrals_of_the_exact_curve_are_those_of_many_even_weights(ask: Ask) -> None:
    truth = Truth("xgboost_3class")
    (effect,) = effects(ask("xgboost_3class", classes=["1"], features=[NAMES[3]]))
    weights = (np.arange(1_000) + 0.5) / 100
    rows = Y == 1
    counts = np.array([np.bincount(truth.predict(effect, w)[rows], minlength=3) for w in weights])

    expected = (10 - weights) @ counts / ((10 - weights).sum() * rows.sum())

    assert list(effect.class_similarities) == pytest.approx(expected.tolist(), abs=2e-3)


@pytest.mark.parametrize("search", ["EXACT", "PUBLISHED"])
def test_the_reach_of_a_best_weight_is_that_of_the_products(search: str, ask: Ask) -> None:
    answer = ask("sklearn_random_forest_3class", search=search, **QUICK)

    for effect in effects(answer):
        column = X[:, NAMES.index(effect.feature)].astype(np.float32)
        moved = column[CLASSES[effect.class_name] == Y] * np.float32(effect.best_weight)
        outside = (moved < column.min()) | (moved > column.max())
        assert effect.reach.outside_share == pytest.approx(outside.mean())
        ends = (effect.reach.observed_low, effect.reach.observed_high)
        assert ends == pytest.approx((column.min(), column.max()))
        ends = (effect.reach.moved_low, effect.reach.moved_high)
        assert ends == pytest.approx((moved.min(), moved.max()))
    leaves = any(e.importance > 0 and e.reach.outside_share > 0 for e in effects(answer))
    assert ("EXTRAPOLATES" in codes(answer)) == leaves


def test_importances_by_a_score_are_at_most_the_largest_weight(ask: Ask) -> None:
    answer = ask("sklearn_random_forest_3class", weight_limit=7.0)

    values = np.array([effect.importance for effect in effects(answer)])
    drops = np.array([effect.mean_score_drop for effect in effects(answer)])
    assert ((values >= 0) & (values <= 7 * drops + 1e-12)).all()


def test_classes_that_are_not_moved_have_no_similarity(ask: Ask) -> None:
    result = of(ask("xgboost_3class", classes=["2"]))
    similarity = np.array(result.similarity).reshape(3, 3)

    assert {effect.class_name for effect in result.effects} == {"2"}
    assert np.isnan(similarity[:2]).all()
    assert np.isfinite(similarity[2]).all()


def test_a_class_that_no_row_has_is_left_out_with_a_warning(ask: Ask) -> None:
    few = Table(
        columns=Columns(
            columns=[
                *(Column(name=name, numbers=X[:100, j]) for j, name in enumerate(NAMES)),
                Column(name="class", numbers=Y[:100]),
            ]
        )
    )

    answer = ask("xgboost_3class", few)

    assert {effect.class_name for effect in effects(answer)} == {"0", "1"}
    assert set(codes(answer)) == {"CLASS_ABSENT", "EXTRAPOLATES"}
    assert "'2'" in refusal(ask, "xgboost_3class", few, classes=["2"]).message


def test_rows_can_be_explained_each_by_itself(ask: Ask) -> None:
    """The nearest weight at which the model takes row 60 for another class, if there is one."""
    found = effects(ask("xgboost_3class", row_indices=[60, 3]))

    assert [(e.row_index, e.row_count) for e in found[::4]] == [(60, 1), (3, 1)]
    for effect in found:
        assert effect.best_score in {0, 1}
        broken = [w for w, s in zip(effect.curve.weights, effect.curve.scores, strict=True)
                  if s == 0]  # fmt: skip
        assert bool(broken) == (effect.best_score == 0)


def test_other_scores_are_lowered_too(ask: Ask) -> None:
    truth = Truth("xgboost_3class")
    for effect in effects(ask("xgboost_3class", score="BALANCED_ACCURACY")):
        predicted = truth.predict(effect, effect.best_weight)
        recall = [(predicted[k == Y] == k).mean() for k in range(3)]
        assert effect.best_score == pytest.approx(np.mean(recall))


def test_the_loss_of_probabilities_can_be_raised_instead(ask: Ask) -> None:
    answer = ask("sklearn_random_forest_3class", loss="MLOGLOSS", **QUICK, search="PUBLISHED")
    result = of(answer)

    assert all(e.best_score >= result.baseline_score - 1e-12 for e in result.effects)
    assert max(e.best_score for e in result.effects) > result.baseline_score


@pytest.mark.parametrize(
    ("search", "engine"),
    [("EXACT", None), ("PUBLISHED", None), ("PUBLISHED", ExplainRequest.BLACK_BOX)],
)
def test_a_regressor_has_no_classes_and_the_usual_loss_by_default(
    search: str, engine, ask: Ask
) -> None:
    columns = json.loads((MODELS / "xgboost_regressor.json").read_text(encoding="utf-8"))["columns"]
    names = list(columns)
    y = np.array(columns[names[0]]) * 2
    table = Table(
        columns=Columns(
            columns=[Column(name=n, numbers=columns[n]) for n in names]
            + [Column(name="class", numbers=y)]
        )
    )
    given: Any = {"feature_columns": names, "search": search, "engine": engine}
    by_default = of(ask("xgboost_regressor", table, **given))
    refused = refusal(ask, "xgboost_regressor", table, score="ACCURACY", **given)
    result = of(ask("xgboost_regressor", table, loss="SQUARED_ERROR", **given))
    (taken,) = (model := load((MODELS / "xgboost_regressor.onnx").read_bytes())).inputs
    rows = np.stack([columns[n] for n in names], axis=1).astype(np.float32)

    assert "leave score out, or name a loss" in refused.message
    assert by_default == result
    assert (list(result.class_names), list(result.similarity)) == ([], [])
    for j, effect in enumerate(result.effects):
        moved = rows.copy()
        moved[:, j] = np.float32(effect.best_weight) * moved[:, j]
        if not (rows[:, j] == 0).any():
            predicted = model.predict({taken.name: moved})[:, 0]
            assert effect.best_score == pytest.approx(((predicted - y) ** 2).mean(), rel=1e-5)
        assert effect.best_score >= result.baseline_score * (1 - 1e-6)


def test_gaussian_numbers_move_without_an_offset(ask: Ask) -> None:
    exact = effects(ask("xgboost_3class", perturbation="GAUSSIAN"))
    tried = effects(ask("xgboost_3class", perturbation="GAUSSIAN", search="PUBLISHED"))

    for best, found in zip(exact, tried, strict=True):
        assert best.best_score <= found.best_score + 1e-12
    assert any(best.best_weight > 0 for best in exact)


def test_wider_starts_find_what_the_published_start_misses(ask: Ask) -> None:
    """Petals of setosa must be almost 9 times as wide before the forest breaks."""
    about: Any = {"features": [NAMES[3]], "classes": ["setosa"], "restart_count": 20}
    forest = "sklearn_random_forest_3class"
    (narrow,) = effects(ask(forest, search="PUBLISHED", **about))
    (wide,) = effects(ask(forest, search="PUBLISHED", start="UNIFORM", **about))
    (exact,) = effects(ask(forest, search="EXACT", **about))

    assert narrow.best_score > wide.best_score + 1e-9
    assert wide.best_score == pytest.approx(exact.best_score)
    assert wide.best_weight == pytest.approx(exact.best_weight, abs=1)


def test_weights_of_rows_count(ask: Ask) -> None:
    """Rows of weight 2 are as good as twice the rows."""
    weighted = ask("xgboost_3class", iris(w=np.where(Y == 1, 2.0, 1.0)), weight_column="w")
    twice = np.concatenate([np.arange(150), np.flatnonzero(Y == 1)])
    columns = [Column(name=name, numbers=X[twice, j]) for j, name in enumerate(NAMES)]
    repeated = ask(
        "xgboost_3class",
        Table(columns=Columns(columns=[*columns, Column(name="class", numbers=Y[twice])])),
    )

    for one, other in zip(effects(weighted), effects(repeated), strict=True):
        assert one.best_weight == other.best_weight
        assert one.best_score == pytest.approx(other.best_score)


@pytest.mark.parametrize(
    ("given", "reason", "told"),
    [
        ({"target_column": ""}, Reason.INVALID_OPTION, "no target"),
        ({"weight_limit": 0.5}, Reason.INVALID_OPTION, "exclude the neutral weight 1"),
        ({"features": ["petal"]}, Reason.UNKNOWN_FEATURE, "petal"),
        ({"classes": ["rose"]}, Reason.INVALID_OPTION, "rose"),
        ({"particle_count": 1}, Reason.INVALID_OPTION, "particle_count is 1"),
        ({"iteration_count": 0}, Reason.INVALID_OPTION, "iteration_count is 0"),
        ({"score": "F1", "loss": "MLOGLOSS"}, Reason.INVALID_OPTION, "not both"),
        ({"row_indices": [150]}, Reason.INVALID_OPTION, "one is 150"),
        ({"loss": "MLOGLOSS", "search": "EXACT"}, Reason.INVALID_OPTION, "does not apply"),
        ({"zero_offset": float("nan")}, Reason.INVALID_OPTION, "zero_offset"),
    ],
)
def test_what_is_impossible_is_refused(given, reason: Reason, told: str, ask: Ask) -> None:
    refused = refusal(ask, "xgboost_3class", **given)

    assert refused.reason is reason
    assert told in refused.message


def test_a_single_class_is_refused(ask: Ask) -> None:
    refused = refusal(ask, "xgboost_3class", iris(y=np.zeros(150)))

    assert (refused.reason, "one class" in refused.message) == (Reason.INVALID_TABLE, True)


def test_a_target_that_is_missing_is_refused(ask: Ask) -> None:
    y = Y.astype(float)
    y[7] = np.nan

    assert "row 7 " in refusal(ask, "xgboost_3class", iris(y=y)).message


def test_features_that_are_text_are_left_out_with_a_warning(make) -> None:
    columns = {
        "kind": np.array(["a", "b"], object)[np.arange(150) % 2],
        "size": X[:, 2],
        "y": np.array(["y0", "y1", "y1"], object)[Y],
    }
    model = make.model(
        lambda _kind, size: np.stack([size < 2.5, size >= 2.5], axis=1),
        ["kind", "size"], ["string", "double"], n_outputs=2,
    )  # fmt: skip
    options = Options(search_settings=SearchSettings(3, 4))

    answer = make.answer(model, make.table(columns), options, target_column="y")

    assert answer.explanations[0].result.features == ("size",)
    (note,) = [note for note in answer.notes if note.code == "FEATURES_LEFT_OUT"]
    assert "'kind'" in note.message


def test_curves_are_joined_where_they_have_too_many_points(ask: Ask) -> None:
    whole = effects(ask("xgboost_3class"))
    short = effects(ask("xgboost_3class", point_count=10))

    assert all(len(effect.curve.weights) <= 10 for effect in short)
    assert any(effect.curve.is_joined for effect in short)
    assert [e.optimum for e in whole] == [e.optimum for e in short]


def test_answers_are_valid_json(ask: Ask) -> None:
    answer = json.loads(to_json(ask("xgboost_3class", search="PUBLISHED", **QUICK)))

    effect = answer["explanations"][0]["swarm"]["effects"][0]
    assert {"className", "feature", "bestWeight", "curve"} <= set(effect)


def test_an_output_whose_class_no_row_has_is_refused(ask: Ask) -> None:
    two = iris(y=np.where(Y == 1, 0, Y))

    refused = refusal(ask, "xgboost_3class", two, output_indices=[1])

    assert (refused.reason, refused.field) == (Reason.INVALID_OPTION, "output_indices")
    assert "no row used is of class '1'" in refused.message
    assert "the rows have '0', '2'" in refused.message
