"""Gate for models: dangerous ones are refused by inspection in milliseconds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hostile import forests, graphs
from hostile.base import Hostile, model, node
from onnxplain_server.adapters.onnx import evaluation, load
from onnxplain_server.adapters.onnx.checks import gate
from onnxplain_server.adapters.onnx.checks.tree_depth import tree_depth
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import ModelLimits

REFUSED = [each for each in (*forests.hostiles(), *graphs.hostiles()) if not each.may_answer]
NEVER_LOADED = [each for each in REFUSED if each.name[0] == "g" or "MODEL_TOO" in str(each.reasons)]


def refusal(content: bytes, limits: ModelLimits | None = None) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        load(content, limits=limits or ModelLimits())
    return refused.value


@pytest.mark.parametrize("hostile", REFUSED, ids=lambda hostile: hostile.name)
def test_a_model_that_would_hurt_is_refused_with_its_reason(hostile: Hostile) -> None:
    actual = refusal(hostile.content)

    assert actual.reason in hostile.reasons, actual.message
    assert actual.message.isprintable()
    assert actual.field == "model"


@pytest.mark.parametrize("hostile", NEVER_LOADED, ids=lambda hostile: hostile.name)
def test_the_runtime_never_sees_a_model_that_is_refused_at_the_gate(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "open_session", None)

    assert refusal(hostile.content).reason in hostile.reasons


def test_nested_functions_are_refused_without_following_them() -> None:
    """Followed, they are 10⁹ nodes."""
    content = graphs.function_bomb(10, 9).SerializeToString()

    assert refusal(content).message.startswith("The model defines 10 functions")


def test_the_message_tells_what_was_found_and_the_limit() -> None:
    assert refusal(graphs.chain(2_001).SerializeToString()).message == (
        "The model has 2,001 nodes or more; this server takes at most 2,000."
    )


def test_a_tree_of_the_most_levels_is_taken() -> None:
    assert load(forests.chain(1_023).SerializeToString()).output_names == ("y",)


@pytest.mark.parametrize(
    ("limits", "made"),
    [
        (ModelLimits(node_count=2), graphs.chain(3)),
        (ModelLimits(output_count=1), graphs.many_outputs(2)),
        (ModelLimits(graph_depth=2), graphs.branches(2)),
        (ModelLimits(tree_depth=2), forests.chain(2)),
        (ModelLimits(target_count=2), forests.forest("TreeEnsembleClassifier", forests.CLASSIFIER)),
    ],
)
def test_every_limit_can_be_set(limits: ModelLimits, made) -> None:
    load(made.SerializeToString())

    assert refusal(made.SerializeToString(), limits).reason is Reason.MODEL_TOO_COMPLEX


@pytest.mark.parametrize(("count", "broken"), [(1, False), (2, True), (3, False), (4, True)])
def test_an_imputer_has_one_value_or_one_per_column(count: int, broken: bool) -> None:
    made = model([node("Imputer", "X", domain="ai.onnx.ml", imputed_value_floats=[0.0] * count)])

    if broken:
        assert (
            f"imputed_value_floats has {count} values for 3"
            in refusal(made.SerializeToString()).message
        )
    else:
        load(made.SerializeToString())


@pytest.mark.parametrize(
    ("children", "limit", "expected"),
    [
        ([[-1, -1]], 5, 1),
        ([[1, 2], [-1, -1], [-1, -1]], 5, 2),
        ([[1, 2], [2, -1], [-1, -1]], 5, 3),
        ([[1, 1], [2, 2], [3, 3], [-1, -1]], 2, 3),
        ([[0, -1]], 5, None),
        ([[1, -1], [0, -1], [-1, -1]], 5, None),
    ],
    ids=["leaf", "split", "shared child, longest way", "over the limit", "itself", "each other"],
)
def test_levels_are_counted_by_hand(
    children: list[list[int]], limit: int, expected: int | None
) -> None:
    assert tree_depth(np.array(children), limit) == expected


def repeated(copies: int):
    """A forest of so many equal trees."""
    attributes: dict[str, Any] = dict(forests.REGRESSOR)
    for name, values in forests.REGRESSOR.items():
        if name in {"nodes_treeids", "target_treeids"}:
            attributes[name] = [tree for tree in range(copies) for _ in values]
        elif isinstance(values, list):
            attributes[name] = values * copies
    return forests.forest("TreeEnsembleRegressor", attributes)


def test_the_gate_takes_time_in_proportion_to_the_model() -> None:
    """With the square of it, the second would take 400 times as long."""

    def seconds(made) -> float:
        start = time.thread_time()
        gate.check(made, ModelLimits())
        return time.thread_time() - start

    small, large = (
        min(seconds(made) for _ in range(3)) for made in (repeated(400), repeated(8_000))
    )

    assert large < 100 * small
