"""Answers beside a reference, from request to comparison: a known change is found, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnx import TensorProto, helper
from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison, ReplicatedStatistic

N = 200
METHODS = (
    onnxplain.Interactions(),
    onnxplain.AverageLoss(group_column="c", group_count=2),
    onnxplain.PartialDependence(features=["a", "c"], grid_size=5),
    onnxplain.AccumulatedLocalEffects(features=["b"], bin_count=5),
    onnxplain.Firm(features=["a", "c"]),
    onnxplain.Attributions(),
)
CHANGED = ExplanationComparison.CHANGED


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def model(together: float, output: str = "y") -> bytes:
    """The model a + together * a * b + c, of double inputs."""
    names = ("a", "b", "c")
    value = helper.make_tensor("k", TensorProto.DOUBLE, [1, 1], [together])
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["ab"]),
        helper.make_node("Mul", ["ab", "k"], ["kab"]),
        helper.make_node("Add", ["a", "c"], ["ac"]),
        helper.make_node("Add", ["ac", "kab"], [output]),
    ]
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, ["n", 1]) for n in names],
        [helper.make_tensor_value_info(output, TensorProto.DOUBLE, ["n", 1])],
        [value],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def rows(seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    table = {name: random.normal(size=N) for name in "abc"}
    table["target"] = table["a"] + table["c"] + random.normal(size=N)
    return table


@pytest.fixture(scope="module")
def reference(client) -> onnxplain.Explanations:
    asked = {"target_column": "target", "plots": False, "replicates": True}
    answer: onnxplain.Explanations = client.explain(model(0.1), rows(), *METHODS, **asked)
    return answer


def compared(client, reference, own, table=None, **asked) -> Any:
    table = rows() if table is None else table
    answer = client.explain(
        own, table, reference=reference, **{"target_column": "target", "plots": False, **asked}
    )
    return answer.message.comparison


def changed(comparison) -> set[tuple[str, str]]:
    names = ReplicatedStatistic.Kind.Name
    return {
        (names(each.kind), "".join(each.features))
        for each in (*comparison.differences, *comparison.curves)
        if each.verdict == CHANGED
    }


def test_a_model_beside_itself_has_not_changed(client, reference) -> None:
    found = compared(client, reference, model(0.1))

    assert found.is_paired
    assert found.tested_count == len(found.differences) + len(found.curves) > 25
    assert not any(each.difference for each in found.differences)
    assert not any(any(each.differences) for each in found.curves)
    assert changed(found) == set()
    assert all(each.ndcg == 1 for each in found.rankings)
    assert not found.unmatched


def test_a_stronger_interaction_is_found_where_it_is(client, reference) -> None:
    """Of mean squares; shares of other features fall, as the whole is larger."""
    found = compared(client, reference, model(0.6))

    squares = {each for each in changed(found) if each[0].endswith("_INTERACTION_SQUARE")}
    assert squares == {
        ("TOTAL_INTERACTION_SQUARE", ""),
        ("OVERALL_INTERACTION_SQUARE", "a"),
        ("OVERALL_INTERACTION_SQUARE", "b"),
        ("PAIRWISE_INTERACTION_SQUARE", "ab"),
    }
    of_c = {each for each in changed(found) if each[1] == "c"}
    assert of_c <= {("IMPORTANCE", "c")}
    assert ("AVERAGE_LOSS", "") in changed(found)


def test_an_interaction_that_the_reference_has_not_at_all_is_a_change_from_zero(client) -> None:
    """Its pair was not measured there: a + c, where nothing interacts."""
    asked = {"replicates": True, "plots": False}
    additive = client.explain(model(0.0), rows(), onnxplain.Interactions(), **asked)
    found = client.explain(model(0.6), rows(), reference=additive, plots=False).comparison

    (pair,) = (d for d in found.changed if d.kind == "PAIRWISE_INTERACTION_SQUARE")
    assert (pair.features, pair.reference_value) == (("a", "b"), 0)
    assert "PAIRWISE_INTERACTION a × b" in repr(found)
    told = [each for each in found.summary if each.startswith("Pairwise interaction of a × b rose")]
    assert len(told) == 1
    assert f"{len(found.changed)} of {found.tested_count}" in found.summary[0]
    assert not found.unmatched


def test_the_error_of_a_loss_is_that_of_a_plain_bootstrap(client, reference) -> None:
    """Rows drawn with replacement here, both losses of each draw, and their difference."""
    found = compared(client, reference, model(0.6))
    table = rows()
    known = np.array([table[name] for name in "abc"])
    group = found.differences
    losses = [
        (table["target"] - known[0] - known[2] - k * known[0] * known[1]) ** 2 for k in (0.1, 0.6)
    ]
    by_group = [each for each in group if each.kind == ReplicatedStatistic.AVERAGE_LOSS]
    assert len(by_group) == 2
    upper = table["c"] > np.median(table["c"])
    random = np.random.default_rng(5)
    for each, is_own in zip(by_group, (~upper, upper), strict=True):
        own = [loss[is_own] for loss in losses]
        drawn = random.integers(len(own[0]), size=(2_000, len(own[0])))
        differences = own[1][drawn].mean(axis=1) - own[0][drawn].mean(axis=1)
        assert each.difference == pytest.approx(own[1].mean() - own[0].mean())
        assert each.standard_error == pytest.approx(differences.std(ddof=1), rel=0.2)


def test_other_rows_are_an_independent_sample(client, reference) -> None:
    paired = compared(client, reference, model(0.1))
    found = compared(client, reference, model(0.1), rows(1))

    assert not found.is_paired
    assert "tables differ" in found.pairing_reason
    assert paired.reference_table_digest == found.reference_table_digest
    assert all(each.standard_error > 0 for each in found.differences if each.difference)
    assert sum(each.standard_error > 0 for each in found.differences) > 15
    assert changed(found) == set()


def test_a_reference_that_was_written_as_json_says_the_same(client, reference, tmp_path) -> None:
    reference.save(tmp_path / "kept.json")
    kept = onnxplain.load(tmp_path / "kept.json")

    assert compared(client, kept, model(0.6)) == compared(client, reference, model(0.6))


def test_options_of_the_comparison_are_obeyed_and_told(client, reference) -> None:
    asked = onnxplain.Reference(reference, confidence_level=0.8, correction="NONE", leading_count=1)
    found = compared(client, asked, model(0.6))
    strict = compared(client, reference, model(0.6))

    assert found.options.correction == found.options.NONE
    assert (found.options.confidence_level, found.options.leading_count) == (0.8, 1)
    pairs = list(zip(found.differences, strict.differences, strict=True))
    assert all(own.adjusted_p_value == own.p_value for own, _ in pairs)
    assert all(own.p_value == other.p_value <= other.adjusted_p_value for own, other in pairs)
    assert all(own.upper - own.lower <= other.upper - other.lower for own, other in pairs)


def test_replicates_are_in_an_answer_only_where_asked(client, reference) -> None:
    own = {"target_column": "target", "plots": False, "reference": reference}
    without, keeping = (
        client.explain(model(0.6), rows(), replicates=asked, **own).message
        for asked in (False, True)
    )

    assert not any(each.HasField("replicates") for each in without.explanations)
    assert all(each.HasField("replicates") for each in keeping.explanations)
    assert without.comparison == keeping.comparison


def test_curves_have_the_points_of_the_reference(client, reference) -> None:
    found = compared(client, reference, model(0.1), rows(1))

    kept = [s for e in reference.message.explanations for s in e.replicates.statistics if s.grid]
    partial = [c for c in found.curves if c.kind == ReplicatedStatistic.PARTIAL_DEPENDENCE]
    assert [list(c.grid) for c in partial] == [list(s.grid) for s in kept[:2]]


def test_the_only_outputs_are_compared_whatever_they_are_called(client, reference) -> None:
    found = compared(client, reference, model(0.1, output="price"))

    assert {each.output_name for each in found.curves} == {"price"}
    assert not found.unmatched


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        pytest.param({"seed": 7}, "seed", id="another seed"),
        pytest.param({"cluster_column": "c"}, "cluster_column", id="other units"),
        pytest.param({"row_count": 50}, "row_count", id="fewer rows of the table"),
    ],
)
def test_what_contradicts_the_reference_is_refused(client, reference, asked, field) -> None:
    with pytest.raises(onnxplain.ExplainError) as refused:
        compared(client, reference, model(0.1), **asked)

    assert (refused.value.reason, refused.value.field) == ("INVALID_OPTION", field)


def without_c() -> bytes:
    """The model a + 0.1 a b, of a and b."""
    value = helper.make_tensor("k", TensorProto.DOUBLE, [1, 1], [0.1])
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["ab"]),
        helper.make_node("Mul", ["ab", "k"], ["kab"]),
        helper.make_node("Add", ["a", "kab"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, ["n", 1]) for n in "ab"]
    outputs = [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])]
    graph = helper.make_graph(nodes, "two", inputs, outputs, [value])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def test_a_feature_that_one_model_lacks_is_named(client) -> None:
    asked = {"replicates": True, "plots": False}
    kept = client.explain(model(0.1), rows(), onnxplain.Interactions(), **asked)
    found = client.explain(without_c(), rows(), reference=kept, plots=False).comparison
    back = client.explain(without_c(), rows(), onnxplain.Interactions(), **asked)
    more = client.explain(model(0.1), rows(), reference=back, plots=False).comparison

    assert {each.features for each in found.differences} == {(), ("a",), ("b",), ("a", "b")}
    lacking = {("c",), ("a", "c"), ("b", "c")}
    assert {each.features for each in found.unmatched} == lacking
    assert {each.reason for each in found.unmatched} == {"the answer does not have it"}
    assert {each.features for each in more.unmatched} == lacking
    assert {each.reason for each in more.unmatched} == {"the reference does not have it"}


def test_a_curve_of_a_feature_that_the_model_lacks_is_refused(client, reference) -> None:
    with pytest.raises(onnxplain.ExplainError) as refused:
        compared(client, reference, without_c())

    assert (refused.value.reason, refused.value.field) == (
        "UNKNOWN_FEATURE",
        "methods[2].partial_dependence.features[1].names",
    )


def test_methods_beside_a_reference_are_refused(client, reference) -> None:
    with pytest.raises(onnxplain.ExplainError, match="methods are those of the reference"):
        client.explain(model(0.1), rows(), onnxplain.Firm(), reference=reference)


def test_two_models_are_compared_in_one_call(client, reference) -> None:
    asked = {"target_column": "target", "plots": False}
    kept = client.compare(reference, model(0.6), rows(), **asked)
    own = client.compare(model(0.1), model(0.6), rows(), *METHODS, **asked)
    tables = client.compare(
        model(0.1), model(0.1), rows(1), *METHODS, reference_table=rows(), **asked
    )

    assert own.message.comparison == kept.message.comparison
    assert tables.message.comparison == compared(client, reference, model(0.1), rows(1))


def test_kept_answers_are_compared_as_they_are_and_rules_judged(client, reference) -> None:
    asked = {"target_column": "target", "plots": False, "replicates": True}
    kept = client.explain(model(0.6), rows(), *METHODS, **asked)
    rules: list[dict[str, Any]] = [
        {"statistic": "average_loss", "holds": "change <= 0.01"},
        {"name": "few", "ranking": "importance", "new_leading_features": False},
    ]
    judged = onnxplain.Reference(reference, rules=rules)
    found = client.compare(judged, kept, plots=False).comparison
    explained = client.compare(judged, model(0.6), rows(), plots=False).comparison

    assert [(each.rule, each.verdict) for each in found.findings] == [
        ("average_loss: change <= 0.01", "FAILS"),
        ("few", "HOLDS"),
    ]
    assert found.message == explained.message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"table": {}}, "as they are", id="table"),
        pytest.param({"seed": 1}, "as they are", id="option"),
        pytest.param({"rules": [{"statistic": "nothing"}]}, "statistic is 'nothing'", id="kind"),
        pytest.param({"rules": [{"importance": 1}]}, "a rule has no 'importance'", id="field"),
    ],
)
def test_what_kept_answers_do_not_take_is_refused(client, reference, arguments, said) -> None:
    table, rules = arguments.pop("table", None), arguments.pop("rules", ())

    with pytest.raises((TypeError, ValueError), match=said):
        client.compare(onnxplain.Reference(reference, rules=rules), reference, table, **arguments)


@pytest.mark.parametrize(
    ("given", "methods"), [("kept", ("interactions",)), ("model", ())], ids=["twice", "none"]
)
def test_methods_are_given_once(client, reference, given, methods) -> None:
    first = reference if given == "kept" else model(0.1)

    with pytest.raises(TypeError, match="methods"):
        client.compare(first, model(0.6), rows(), *methods)


def test_a_reference_without_replicates_is_refused(client) -> None:
    plain = client.explain(model(0.1), rows(), onnxplain.Interactions(), plots=False)

    with pytest.raises(onnxplain.ExplainError, match="has no replicates"):
        compared(client, plain, model(0.1))
