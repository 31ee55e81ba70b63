"""Groups that count as one feature in swarm, FIRM and feature vectors: definitions and laws."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxplain
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

MODELS = Path(__file__).parents[1] / "models"


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def table_of(name: str) -> dict[str, Any]:
    columns = json.loads((MODELS / f"{name}.json").read_text())["columns"]
    return {column: np.array(values) for column, values in columns.items()}


def predict(name: str, rows) -> Any:
    session = onnxruntime.InferenceSession(MODELS / f"{name}.onnx")
    (taken,) = session.get_inputs()
    kind = np.float64 if "double" in taken.type else np.float32
    answers = session.run(None, {taken.name: rows.astype(kind)})
    return next(each for each in answers if np.ndim(each) == 2)


def rows_of(table) -> Any:
    return np.stack(list(table.values()), axis=1)


# Swarm


def with_classes(name: str) -> tuple[dict[str, Any], Any]:
    """Return a table whose target the model predicts wrongly in each fourth row."""
    table = table_of(name)
    labels = predict(name, rows_of(table)).argmax(axis=1)
    labels[::4] = (labels[::4] + 1) % 3
    return table, labels


def ask(client: onnxplain.Client, name: str, table, labels, *methods, **more):
    target = {"class": [str(label) for label in labels]}
    return client.explain(
        MODELS / f"{name}.onnx", {**table, **target}, *methods,
        feature_columns=list(table), target_column="class", plots=False,
        class_labels=["0", "1", "2"], **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "search"),
    [("sklearn_logistic_3class_double", "EXACT"), ("lightgbm_3class", "PUBLISHED")],
)
def test_groups_are_moved_together_by_one_weight(
    client: onnxplain.Client, name: str, search: str
) -> None:
    """Scores of all weights tried, or within each step, are those of rows moved by hand."""
    table, labels = with_classes(name)
    first, _, third, *_ = table
    asked = onnxplain.Swarm(groups=[(third, first)], iteration_count=20)

    found = ask(client, name, table, labels, asked).message.explanations[0].swarm

    rows, group = rows_of(table), np.array([0, 2])
    assert found.features[0] == f"{first} + {third}"
    assert search == ("EXACT" if found.effects[0].HasField("optimum") else "PUBLISHED")
    effects = [one for one in found.effects if one.feature == found.features[0]]
    assert len(effects) == 3
    for effect in effects:
        own = np.flatnonzero(labels == list(found.class_names).index(effect.class_name))
        offsets = np.where((rows[:, group] == 0).any(axis=0), 1.0, 0.0)
        weights = np.array(effect.curve.weights)
        if search == "EXACT":
            weights = (weights + np.append(weights[1:], 10)) / 2
        for weight, score in list(zip(weights, effect.curve.scores, strict=True))[:40]:
            moved = rows.copy()
            moved[np.ix_(own, group)] = weight * (rows[np.ix_(own, group)] + offsets) - offsets
            expected = (predict(name, moved).argmax(axis=1) == labels).mean()
            assert score == pytest.approx(expected, abs=1e-10), (effect.class_name, weight)
        best = effect.best_weight * (rows[np.ix_(own, group)] + offsets) - offsets
        outside = (best < rows[:, group].min(axis=0) - 1e-6) | (
            best > rows[:, group].max(axis=0) + 1e-6
        )
        assert effect.reach.outside_share == pytest.approx(outside.any(axis=1).mean())
        worst = int(outside.mean(axis=0).argmax())
        assert effect.reach.feature == (first, third)[worst]
        assert not effect.values.counts


def test_a_feature_with_one_that_the_model_ignores_is_moved_as_by_itself(
    client: onnxplain.Client,
) -> None:
    """A linear model with a fifth column of weight 0: exact steps of both are the same."""
    name = "sklearn_logistic_3class_double"
    table, labels = with_classes(name)
    columns = [*table]
    padded = widened(MODELS / f"{name}.onnx", len(columns))
    table["ignored"] = np.linspace(1, 2, len(labels))
    target = {"class": [str(label) for label in labels]}

    def effects(**given):
        asked = onnxplain.Swarm(features=[columns[0], "ignored"], search="EXACT", **given)
        found = client.explain(
            padded, {**table, **target}, asked, feature_columns=list(table), plots=False,
            target_column="class", class_labels=["0", "1", "2"],
        )  # fmt: skip
        every = found.message.explanations[0].swarm.effects
        return {(one.class_name, one.feature): one for one in every}

    alone, grouped = effects(), effects(groups=[(columns[0], "ignored")])

    assert len(alone) == 6
    for label in {name for name, _ in alone}:
        one, both = alone[label, columns[0]], grouped[label, f"{columns[0]} + ignored"]
        assert both.curve == one.curve
        assert both.best_weight == one.best_weight


def widened(path: Path, count: int) -> bytes:
    """Return a model that takes a column more, of which it reads the first `count`."""
    model = onnx.load(path)
    (taken,) = model.graph.input
    old = taken.name
    axes = onnx.numpy_helper.from_array(np.array([1]), "axes_of_column")
    ends = [onnx.numpy_helper.from_array(np.array([end]), f"end_{end}") for end in (0, count)]
    model.graph.initializer.extend([axes, *ends])
    taken.name = "wider"
    taken.type.tensor_type.shape.dim[1].dim_value = count + 1
    cut = onnx.helper.make_node("Slice", ["wider", "end_0", f"end_{count}", axes.name], [old])
    model.graph.node.insert(0, cut)
    return model.SerializeToString()


def test_all_features_together_are_one_group(client: onnxplain.Client) -> None:
    table, labels = with_classes("lightgbm_3class")
    asked = onnxplain.Swarm(groups=[tuple(table)], iteration_count=5)

    found = ask(client, "lightgbm_3class", table, labels, asked)

    assert found.swarm.features == (" + ".join(table),)
    assert "NOT_EXACT" in [warning.code for warning in found.warnings]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"groups": [("a",)]}, "a group has at least two"),
        ({"groups": [("a", "b"), ("b", "c")]}, "named twice"),
        ({"groups": [("a", "b")], "features": ["a", "c"]}, "which features leaves out"),
        ({"groups": [("a", "b")], "search": "EXACT"}, "a group moves several"),
    ],
)
def test_swarm_refuses_groups_that_make_no_sense(
    client: onnxplain.Client, given: dict[str, Any], said: str
) -> None:
    table = table_of("lightgbm_3class")
    names = dict(zip("abcd", table, strict=True))
    groups = [tuple(names[each] for each in group) for group in given["groups"]]
    given = given | {"groups": groups}
    if "features" in given:
        given["features"] = [names[each] for each in given["features"]]
    labels = np.arange(len(table[names["a"]])) % 3

    with pytest.raises(onnxplain.ExplainError, match=said):
        ask(client, "lightgbm_3class", table, labels, onnxplain.Swarm(**given))


# FIRM

LEVELS = ("red", "green", "blue")


def firm(client: onnxplain.Client, table, *, weights=None, **given):
    more: dict[str, Any] = {"weight_column": "weight"} if weights is not None else {}
    columns = {**table, **({"weight": weights} if weights is not None else {})}
    asked = onnxplain.Firm(source="LABELS", **given)
    found = client.explain(None, columns, asked, target_column="score", plots=False, **more)
    return {one.feature: one for one in found.message.explanations[0].firm.importances}


def between(labels, score, weights) -> tuple[float, float]:
    """Return the variance of means of groups of rows, as it is and without its expected noise."""
    mean = np.average(score, weights=weights)
    total, variance, residual, freedom, noise = weights.sum(), 0.0, 0.0, weights.sum(), 0.0
    squares = (weights**2).sum()
    for label in np.unique(labels):
        own = labels == label
        share = weights[own].sum()
        middle = np.average(score[own], weights=weights[own])
        variance += share / total * (middle - mean) ** 2
        residual += (weights[own] * (score[own] - middle) ** 2).sum()
        freedom -= (weights[own] ** 2).sum() / share
        noise += (weights[own] ** 2).sum() / share
    within = residual / freedom if freedom > 1e-9 * total else np.nan
    return variance, variance - within * (noise - squares / total) / total


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_importance_of_a_group_is_the_spread_over_combinations(
    client: onnxplain.Client, data: st.DataObject
) -> None:
    """Any columns of few values, any weights: by the definition, in any order of the group."""
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.integers(20, 60))
    width = data.draw(st.integers(2, 4))
    table: dict[str, Any] = {
        f"c{j}": random.integers(0, data.draw(st.integers(1, 3)) + 1, n) / data.draw(
            st.sampled_from([1, 10])
        )
        for j in range(width)
    }  # fmt: skip
    table["text"] = np.array(["x, c1 = 0", "", "y"])[random.integers(0, 3, n)]
    table["score"] = random.normal(size=n)
    weights = random.integers(1, 4, n).astype(float)
    group = data.draw(st.permutations([name for name in table if name != "score"]))
    keep = data.draw(st.booleans())

    found = firm(client, table, weights=weights, groups=[group], keep_bias=keep)

    name = " + ".join(name for name in table if name != "score")
    (one,) = found.values()
    assert (one.feature, one.grouped_features) == (name, name.split(" + "))
    labels = np.array([repr(values) for values in zip(*(table[c] for c in group), strict=True)])
    if len(np.unique(labels)) < 3:
        return
    raw = between(labels, table["score"], weights)[not keep]
    expected = np.sqrt(max(raw, 0)) if np.isfinite(raw) else np.nan
    assert one.values == pytest.approx([expected], abs=1e-10, nan_ok=True)
    curve = one.curve
    assert len(set(curve.texts)) == len(np.unique(labels)) == len(curve.shares)


def test_one_hot_columns_are_their_category(client: onnxplain.Client) -> None:
    random = np.random.default_rng(0)
    kind = random.integers(0, 3, 200)
    score = np.array([0.0, 2.0, 5.0])[kind] + random.normal(size=200)
    text = {"kind": np.array(LEVELS)[kind], "score": score}
    hot = {f"kind_{level}": (kind == k) * 1.0 for k, level in enumerate(LEVELS)}

    (whole,) = firm(client, text, features=["kind"], repeat_count=20).values()
    (grouped,) = firm(client, hot | {"score": score}, groups=[tuple(hot)], repeat_count=20).values()

    for field in ("values", "standard_errors", "lower", "upper"):
        assert getattr(grouped, field) == pytest.approx(getattr(whole, field), abs=1e-10)
    assert set(grouped.curve.texts) == {f"kind_{level}" for level in LEVELS}
    shares = dict(zip(grouped.curve.texts, grouped.curve.shares, strict=True))
    assert shares["kind_blue"] == pytest.approx((kind == 2).mean())


def test_one_hot_columns_that_count_singly_are_suggested(client: onnxplain.Client) -> None:
    """Asked for as suggested, the answer suggests nothing more."""
    table, kind = {"x": np.arange(60) % 7 * 1.0}, np.arange(60) % 3
    table |= {f"kind_{level}": (kind == k) * 1.0 for k, level in enumerate(LEVELS)}
    table["score"] = kind * table["x"]

    def warned(*methods):
        found = client.explain(None, table, *methods, target_column="score", plots=False)
        return [one for one in found.warnings if one.code == "ONE_HOT_COLUMNS"]

    more: dict[str, Any] = {"source": "LABELS", "sentence_count": 100, "depth": 3}
    (warning,) = warned(onnxplain.Firm(), onnxplain.FeatureVectors(**more))

    groups = warning.suggested_groups
    assert groups == (("kind_red", "kind_green", "kind_blue"),)
    assert warning.kind == "HOW_IT_WAS_MADE"
    asked = onnxplain.Firm(groups=groups), onnxplain.FeatureVectors(groups=groups, **more)
    assert warned(*asked) == []
    assert warned(onnxplain.Firm(features=["x"])) == []
    assert len(warned(asked[0], onnxplain.FeatureVectors(**more))) == 1


def test_a_group_of_a_feature_and_a_constant_is_the_feature(client: onnxplain.Client) -> None:
    random = np.random.default_rng(1)
    table = {"x": random.integers(0, 9, 100).astype(float), "same": np.full(100, 7.0)}
    table["score"] = table["x"] ** 2 + random.normal(size=100)

    found = firm(client, table, features=["x"], groups=[("same", "x")])

    assert found["x + same"].values == pytest.approx(found["x"].values, abs=1e-10)


def test_a_group_of_all_features_moves_the_score_as_far_as_it_goes(
    client: onnxplain.Client,
) -> None:
    """Rows of equal features have one prediction: no noise, and all of its spread."""
    name = "lightgbm_3class"
    table = {column: np.round(values) for column, values in table_of(name).items()}
    table = {column: np.tile(values, 2) for column, values in table.items()}

    found = client.explain(
        MODELS / f"{name}.onnx", table, onnxplain.Firm(groups=[tuple(table)]),
        feature_columns=list(table), plots=False,
    ).firm  # fmt: skip

    assert [one.feature for one in found.importances] == [" + ".join(table)]
    deviations = predict(name, rows_of(table)).astype(float).std(axis=0)
    assert found.importances[0].values == pytest.approx(deviations, rel=1e-6)


def test_kept_answers_are_compared_by_group(client: onnxplain.Client) -> None:
    random = np.random.default_rng(3)
    table: dict[str, Any] = {name: random.integers(0, 3, 200) * 1.0 for name in "abc"}
    table["score"] = table["a"] * table["b"] + random.normal(size=200)
    more: dict[str, Any] = {"target_column": "score", "plots": False}
    kept = client.explain(None, table, onnxplain.Firm(groups=[("a", "b")]), replicates=True, **more)
    table["score"] = table["score"] + 3 * table["a"]

    again = client.explain(None, table, reference=kept, **more)

    assert again.comparison is not None
    differences = {one.features: one for one in again.comparison.differences}
    assert set(differences) >= {("a + b",), ("c",)}
    assert differences["a + b",].value > 1


def test_groups_of_expressions_and_of_columns_that_no_bins_hold(client: onnxplain.Client) -> None:
    random = np.random.default_rng(2)
    x, z = random.normal(size=(2, 2000))
    table = {"x": x, "z": z, "score": x * z}

    every = firm(client, table, groups=[("z > 0", "x > 0")])
    assert [*every] == ["x", "z", "z > 0 + x > 0"]
    found = every["z > 0 + x > 0"]
    expected = between(2 * (x > 0) + (z > 0), table["score"], np.ones(2000))[1]
    assert found.values == pytest.approx([np.sqrt(expected)], abs=1e-10)

    with pytest.raises(onnxplain.ExplainError, match="2,000 combinations of values of x \\+ z"):
        firm(client, table, groups=[("x", "z")])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"groups": [("x", "z")], "estimator": "SLOPE"}, "needs numbers"),
        ({"groups": [("x", "z")], "features": ["x + z"]}, "is that of another feature"),
        ({"groups": [("x", "z"), ("z", "x > 0")]}, "named twice"),
        ({"groups": [("x", "z > ")]}, "x|syntax|end"),
    ],
)
def test_firm_refuses_groups_that_make_no_sense(
    client: onnxplain.Client, given: dict[str, Any], said: str
) -> None:
    table = {"x": np.arange(10) % 2.0, "z": np.arange(10) % 3.0, "score": np.arange(10.0)}

    with pytest.raises(onnxplain.ExplainError, match=said):
        firm(client, table, **given)


# Feature vectors


def sentences(path: Path) -> list[list[int]]:
    """Return the features on each path of a forest of one node of ONNX, from its root."""
    model = onnx.load(path)
    node = next(n for n in model.graph.node if n.op_type.startswith("TreeEnsemble"))
    found = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    keys = list(zip(found["nodes_treeids"], found["nodes_nodeids"], strict=True))
    place = {key: i for i, key in enumerate(keys)}
    told: list[list[int]] = []

    def walk(tree: int, number: int, before: list[int]) -> None:
        i = place[tree, number]
        if found["nodes_modes"][i] == b"LEAF":
            told.append(before)
            return
        path = [*before, found["nodes_featureids"][i]]
        walk(tree, found["nodes_truenodeids"][i], path)
        walk(tree, found["nodes_falsenodeids"][i], path)

    for tree in sorted(set(found["nodes_treeids"])):
        walk(tree, 0, [])
    return told


def cooccurrence(paths: list[list[int]], count: int, window: int = 3) -> Any:
    """Count each unordered pair of different words once in each window, by the definition."""
    counts: Counter[tuple[int, int]] = Counter()
    for words in paths:
        for start in range(max(1, len(words) - window + 1)):
            counts.update(combinations(sorted(set(words[start : start + window])), 2))
    matrix = np.zeros((count, count))
    for (i, j), times in counts.items():
        matrix[i, j] = matrix[j, i] = times
    return matrix


FOREST = "sklearn_random_forest_3class"


def vectors(client: onnxplain.Client, **given):
    table = table_of(FOREST)
    asked = onnxplain.FeatureVectors(include_cooccurrence=True, **given)
    return client.explain(
        MODELS / f"{FOREST}.onnx", table, asked, feature_columns=list(table), plots=False
    ).feature_vectors


def test_a_group_is_one_word_on_decision_paths(client: onnxplain.Client) -> None:
    names = list(table_of(FOREST))
    word = {0: 0, 1: 1, 2: 0, 3: 2}

    found = vectors(client, groups=[(names[2], names[0])])

    assert found.features == (f"{names[0]} + {names[2]}", names[1], names[3])
    told = [[word[j] for j in path] for path in sentences(MODELS / f"{FOREST}.onnx")]
    expected = cooccurrence(told, 3)
    assert np.array(found.cooccurrence).reshape(3, 3).tolist() == expected.tolist()
    vectors_ = np.array(found.vectors).reshape(3, -1)
    values, singular, _ = np.linalg.svd(expected)
    lengths = np.linalg.norm(values[:, :2] * singular[:2], axis=1)
    assert found.norms == pytest.approx(lengths, rel=1e-9)
    assert np.linalg.norm(vectors_, axis=1) == pytest.approx(lengths, rel=1e-9)


def test_groups_of_a_forest_that_is_grown_are_words_too(client: onnxplain.Client) -> None:
    """One-hot columns as a group are the text column, which trees are grown on likewise."""
    random = np.random.default_rng(0)
    kind, x, z = random.integers(0, 3, 300), *random.normal(size=(2, 300))
    score = x * z + np.array([0, 1, 5])[kind]
    hot = {f"kind_{level}": (kind == k) * 1.0 for k, level in enumerate(sorted(LEVELS))}
    ordered = np.array(sorted(LEVELS))[kind]

    def grown(table, **given):
        asked = onnxplain.FeatureVectors(
            source="LABELS", sentence_count=3000, depth=4, include_cooccurrence=True, **given
        )
        more: dict[str, Any] = {"target_column": "score", "plots": False}
        return client.explain(None, table | {"score": score}, asked, **more).feature_vectors

    text = grown({"kind": ordered, "x": x, "z": z})
    grouped = grown({**hot, "x": x, "z": z}, groups=[tuple(hot)])

    assert grouped.features == (" + ".join(hot), "x", "z")
    assert grouped.cooccurrence.tolist() == text.cooccurrence.tolist()
    assert grouped.norms.tolist() == text.norms.tolist()


@pytest.mark.parametrize(
    ("count", "more", "said"),
    [
        (4, {}, "at least 2"),
        (3, {"dimension_count": 3}, r"\[2, 2\]"),
        (2, {"knockoffs": onnxplain.Knockoffs(), "source": "SURROGATE"}, "single columns"),
    ],
)
def test_vectors_refuse_groups_that_make_no_sense(
    client: onnxplain.Client, count: int, more: dict[str, Any], said: str
) -> None:
    names = list(table_of(FOREST))

    with pytest.raises(onnxplain.ExplainError, match=said):
        vectors(client, groups=[names[:count]], **more)
