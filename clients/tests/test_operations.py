"""Plans and operations of the clients, with a server on a Redis."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnxplain
import pytest
from harness import PYTHON, ROOT, Runner, Server, ask, difference, fault, serving

FILES = "conformance/files"
INTERACTIONS: dict[str, Any] = {
    "call": "explain",
    "model": f"{FILES}/score.onnx",
    "table": f"{FILES}/whole.csv",
    "request": {"plots": False, "methods": [{"interactions": {}}]},
}
CURVES: dict[str, Any] = {
    **INTERACTIONS,
    "table": f"{FILES}/long.csv",
    "request": {
        "plots": False,
        "rowCount": 2000,
        "methods": [{"individualConditionalExpectation": {"curveCount": 2000, "gridSize": 60}}],
    },
}
LONG: dict[str, Any] = {
    **INTERACTIONS,
    "table": f"{FILES}/long.csv",
    "request": {"plots": False, "rowCount": 2500, "methods": [{"interactions": {}}]},
}
REFUSED: dict[str, Any] = {
    **INTERACTIONS,
    "request": {"plots": False, "methods": [{"interactions": {"features": ["nope", "a"]}}]},
}
PARTIAL: dict[str, Any] = {
    **INTERACTIONS,
    "request": {**INTERACTIONS["request"], "partial": True},
}

INLINE_BYTES = 3 * 2**20
"""Size up to which an answer comes with its operation."""


@pytest.fixture
def put(keeping: Server, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Let a client ask one case, which is none of the conformance cases."""
    for name in ("models", "conformance"):
        (tmp_path / name).mkdir()
    (tmp_path / FILES).symlink_to(ROOT / FILES)
    (tmp_path / "conformance/cases").mkdir()

    def ask_one(client: Runner, case: Mapping[str, Any], on: Server = keeping) -> dict[str, Any]:
        (tmp_path / "conformance/cases/case.json").write_text(json.dumps(case))
        found = ask(client, on, tmp_path / "out", ["case"], root=tmp_path)
        # The second to ask finds the numbers of the first in the cache.
        found["case"].get("response", {}).pop("receipt", None)
        return dict(found["case"])

    return ask_one


@pytest.fixture
def operating(client: Runner) -> Runner:
    """A client whose runner has plans and operations."""
    if "operation" in client.lacks:
        pytest.skip(f"the runner of {client.name} has no operations")
    return client


def test_a_plan_is_that_of_the_python_client(
    operating: Runner, keeping: Server, put: Callable[..., dict[str, Any]]
) -> None:
    # Of rows that no other test computes: the cache has nothing of them.
    asked = {**INTERACTIONS["request"], "rowCount": 150}
    found = put(operating, {**INTERACTIONS, "request": asked, "call": "plan"})["response"]
    with onnxplain.connect(keeping.environment["ONNXPLAIN_ENDPOINT"]) as python:
        expected = python.plan(
            ROOT / INTERACTIONS["model"],
            ROOT / INTERACTIONS["table"],
            onnxplain.Interactions(),
            row_count=150,
            plots=False,
        )

    assert found["predictedRowCount"] == expected.predicted_row_count > 0
    assert [method["name"] for method in found["methods"]] == ["interactions"]
    assert 0 < found["seconds"]["low"] <= found["seconds"]["high"]


def test_an_operation_answers_as_a_call_does(
    operating: Runner, put: Callable[..., dict[str, Any]]
) -> None:
    labels = {"run": f"answers-{operating.name}"}
    found = put(
        operating,
        {
            **INTERACTIONS,
            "call": "operation",
            "request_id": f"answers-{operating.name}",
            "labels": labels,
            "filter": f'done = true AND labels.run = "{labels["run"]}"',
        },
    )
    expected = put(PYTHON, INTERACTIONS)["response"]

    (name, again), listed = found["names"], found["listed"]
    assert difference(found["response"], expected) is None
    assert name == again
    assert listed == [name]
    assert found["state"] == "SUCCEEDED"
    assert found["deleted"] == "OPERATION_NOT_FOUND"
    done, planned = found["progress"][-1]
    assert 0 < done <= planned


def test_without_a_request_id_each_start_is_another_operation(
    operating: Runner, put: Callable[..., dict[str, Any]]
) -> None:
    labels = {"run": f"two-{operating.name}"}
    found = put(
        operating,
        {
            **INTERACTIONS,
            "call": "operation",
            "labels": labels,
            "filter": f'labels.run = "{labels["run"]}"',
        },
    )

    first, second = found["names"]
    assert found["listed"] == [second, first]  # newest first
    assert first != second


def test_an_answer_larger_than_a_message_arrives_whole(
    operating: Runner, put: Callable[..., dict[str, Any]]
) -> None:
    found = put(operating, {**CURVES, "call": "operation"})
    expected = put(PYTHON, CURVES)["response"]

    (explanation,) = found["response"]["explanations"]
    curves = explanation["individualConditionalExpectation"]["curves"]
    assert sum(8 * len(each["values"]) for each in curves) > INLINE_BYTES
    assert difference(found["response"], expected) is None


def test_the_error_of_an_operation_is_that_of_a_call(
    operating: Runner, put: Callable[..., dict[str, Any]]
) -> None:
    found = put(operating, {**REFUSED, "call": "operation"})
    expected = put(PYTHON, REFUSED)["error"]

    assert fault({"error": found["error"]}, {"expected": {"error": expected}}) is None
    assert expected["reason"] == "UNKNOWN_FEATURE"
    assert found["error"]["field"] == "methods[0].interactions.features" == expected["field"]
    assert found["state"] == "FAILED"


def test_a_cancelled_operation_says_so(
    operating: Runner, put: Callable[..., dict[str, Any]]
) -> None:
    found = put(operating, {**LONG, "call": "operation", "request_id": f"long-{operating.name}",
                            "cancel_at_once": True})  # fmt: skip

    assert found["state"] == "CANCELLED"
    assert found["error"]["code"] == "CANCELLED"
    assert "response" not in found


def test_the_answer_of_a_partial_operation_replaces_its_parts(
    operating: Runner, put: Callable[..., dict[str, Any]]
) -> None:
    found = put(operating, {**PARTIAL, "call": "operation"})

    assert found["state"] == "SUCCEEDED"
    assert found["partials"] == []


def test_without_redis_a_start_is_refused(
    operating: Runner, put: Callable[..., dict[str, Any]]
) -> None:
    with serving() as alone:
        found = put(operating, {**INTERACTIONS, "call": "operation"}, on=alone)

    assert found["error"]["reason"] == "OPERATIONS_DISABLED"
    assert found["error"]["code"] == "UNIMPLEMENTED"
