"""Random requests: always an answer or a reason, and the same one where nothing of it changed."""

from __future__ import annotations

import os

import pytest
from asked.cases import cases
from asked.changes import CHANGES
from asked.methods import METHODS
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("few_trees")

COUNT = int(os.environ.get("TEST_PROPERTIES", "15"))
"""Requests per method; `make torture` sends more, each time others."""

FORESTS = "featureVectors"
"""The method that grows forests, a hundred times as dear as another."""


def thorough(count: int) -> settings:
    """So many requests."""
    return settings(
        max_examples=count,
        derandomize="TEST_PROPERTIES" not in os.environ,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


@pytest.mark.parametrize("method", [method for method in METHODS if method != FORESTS])
@thorough(COUNT)
@given(data=st.data())
def test_what_changes_nothing_of_a_request_changes_no_answer(ask, method: str, data) -> None:
    """Nor is there any request without an answer or a reason; nor a NaN that nothing explains."""
    check_change(ask, method, data)


@thorough(max(1, COUNT // 5))
@given(data=st.data())
def test_what_changes_nothing_of_a_request_changes_no_vectors(ask, data) -> None:
    check_change(ask, FORESTS, data)


def check_change(ask, method: str, data) -> None:
    """Draw a request and a change of it, and compare the answers."""
    case = data.draw(cases(method))
    change = data.draw(st.sampled_from(["engines", *CHANGES]))
    event(change)
    if change == "engines":
        assert ask.faults_of_engines(case) == []
    else:
        assert ask.faults_of(change, case, data.draw(st.integers(0, 99))) == []
