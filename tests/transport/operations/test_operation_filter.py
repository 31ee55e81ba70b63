"""Filter of lists of operations: what it matches, and what it refuses."""

from __future__ import annotations

import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operations import Operation, OperationState
from onnxplain_server.transport.operations.operation_filter import parse_filter

OPERATION = Operation(
    id="1",
    owner="ada",
    state=OperationState.RUNNING,
    request_id="nightly",
    request_digest="",
    labels={"team": "risk", "run": 'a "b" \\ AND c', "empty": ""},
    method_names=("interactions", "firm"),
    create_time=0.0,
    expire_time=1.0,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "state = RUNNING",
        "state=RUNNING",
        "state != FAILED",
        "done = false",
        'done = "false"',
        "labels.team = risk AND state = RUNNING",
        "labels.team=risk   AND   labels.none != x",
        'labels.run = "a \\"b\\" \\\\ AND c"',
        'labels.empty = ""',
        "method = firm AND method = interactions",
        "method != swarm",
        "request_id = nightly",
    ],
)
def test_a_filter_matches(text: str) -> None:
    assert parse_filter(text)(OPERATION)


@pytest.mark.parametrize(
    "text",
    [
        "state = PENDING",
        "state != RUNNING",
        "done = true",
        "labels.team = risk AND done = true",
        "done = true AND labels.team = risk",
        'labels.none = ""',
        "method = swarm",
        "method != firm",
        "request_id = other",
    ],
)
def test_a_filter_excludes(text: str) -> None:
    assert not parse_filter(text)(OPERATION)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("state", "letter 1"),
        ("state =", "letter 1"),
        ("state = running", "not .running."),
        ("done = yes", "not .yes."),
        ("colour = red", "unknown field .colour."),
        ("labels. = x", "unknown field .labels.."),
        ("state = RUNNING OR done = true", "letter 16"),
        ("state = RUNNING done = true", "letter 16"),
        ("state = RUNNING AND", "letter 16"),
        ("AND state = RUNNING", "letter 1"),
        ("state < RUNNING", "letter 1"),
        ('labels.a = "x', "letter 1"),
        ('labels.a = "x"y', "letter 15"),
        ("labels.a = (x)", "letter 1"),
        (" AND ".join(["done = true"] * 21), "more than 20"),
        ("a" * 2_001, "more than 2,000"),
    ],
)
def test_anything_else_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ExplainError, match=fault) as caught:
        parse_filter(text)

    assert (caught.value.reason, caught.value.field) == (Reason.INVALID_REQUEST, "filter")
