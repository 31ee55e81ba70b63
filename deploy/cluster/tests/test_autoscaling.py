"""The autoscaler follows the load, by what real processes use and by what they count."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnxplain
import pytest

from tools.waiting import until

IRIS = Path(__file__).parents[3] / "examples/iris"
CALLERS = 4
LEAST = 1


@pytest.fixture
def scaled(release, cluster, small) -> Mapping[str, Any]:
    """Values of an autoscaler that does not hesitate, without a target."""
    window = {"stabilizationWindowSeconds": 0}
    autoscaling = {
        "enabled": True,
        "minReplicas": LEAST,
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 0,
        "targetWaitingRequests": 0,
        "behavior": {"scaleUp": window, "scaleDown": window},
    }
    return {**small, "autoscaling": autoscaling}


@pytest.mark.parametrize(
    "target",
    [{"targetCPUUtilizationPercentage": 40}, {"targetWaitingRequests": 1}],
    ids=["processors", "waiting requests"],
)
def test_pods_come_under_load_and_leave_after_it(
    release, cluster, scaled, target: Mapping[str, Any]
) -> None:
    autoscaling = {**scaled["autoscaling"], **target}
    release.upgrade(*release.values({**scaled, "autoscaling": autoscaling}))
    until(lambda: _reads_metrics(cluster, release.namespace))
    before = len(release.pods())

    with _load(release.pods()[0].status.pod_ip) as answers:
        until(lambda: _ready_count(release) > LEAST)
    until(lambda: _ready_count(release) == LEAST == len(release.pods()))

    assert before == LEAST
    assert answers


def _ready_count(release) -> int:
    return release.deployment().status.ready_replicas or 0


def _reads_metrics(cluster, namespace: str) -> bool:
    """Return whether the autoscaler could read its metrics."""
    (only,) = cluster.autoscaling.list_namespaced_horizontal_pod_autoscaler(namespace).items
    conditions = {one.type: one.status for one in only.status.conditions or []}
    return conditions.get("ScalingActive") == "True"


@contextmanager
def _load(address: str) -> Iterator[list[object]]:
    """Send requests to a pod, more than it answers at a time; yield the answers."""
    answers: list[object] = []
    stopping = threading.Event()

    def call(first: int) -> None:
        seeds = iter(range(first, 1 << 30, CALLERS))
        with onnxplain.connect(f"{address}:8081") as client:
            while not stopping.is_set():
                answers.append(
                    client.explain(
                        IRIS / "linear.onnx",
                        IRIS / "iris.csv",
                        onnxplain.PermutationImportance(repeat_count=500),
                        target_column="sepal_length",
                        engine="BLACK_BOX",
                        seed=next(seeds),  # no answer is kept
                        timeout=300,
                    )
                )

    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(call, number) for number in range(CALLERS)]
        try:
            yield answers
        finally:
            stopping.set()
    for one in calls:
        one.result()
