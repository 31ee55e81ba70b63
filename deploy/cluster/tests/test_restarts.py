"""Containers that end or hang run again in their pods."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tools.waiting import until


@pytest.fixture
def pod(release, small) -> Any:
    """The pod of a release that is killed soon where it does not live."""
    liveness = {"periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 3}
    settings = {**small["settings"], "grace_seconds": 1}
    release.upgrade(
        *release.values({**small, "settings": settings, "probes": {"liveness": liveness}})
    )
    (pod,) = release.pods()
    return pod


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_is_killed_or_hangs_runs_again_in_its_pod(
    release, cluster, pod, number: signal.Signals
) -> None:
    pid = cluster.kubelet.pods[pod.metadata.uid].run.pid

    os.kill(pid, number)
    until(lambda: _restarts(release.pods()) == [(pod.metadata.name, 1, True)])

    (container,) = release.pods()[0].status.container_statuses
    assert container.last_state.terminated.exit_code == 128 + signal.SIGKILL
    assert cluster.kubelet.pods[pod.metadata.uid].run.pid != pid
    release.helm("test")


def test_a_container_that_keeps_ending_waits_before_it_runs_again(cluster, namespace: str) -> None:
    cluster.core.create_namespaced_pod(namespace, _ending())

    first = until(lambda: _end_before_wait(cluster, namespace, 1))
    second = until(lambda: _end_before_wait(cluster, namespace, 2))

    assert (first.exit_code, second.exit_code) == (7, 7)
    assert (second.started_at - first.finished_at).total_seconds() >= 9  # whole seconds are kept
    phases = [one.status.phase for one in cluster.core.list_namespaced_pod(namespace).items]
    assert phases == ["Running"]


def _restarts(pods: Any) -> list[tuple[str, int, bool]]:
    return [
        (pod.metadata.name, container.restart_count, container.ready)
        for pod in pods
        for container in pod.status.container_statuses
    ]


def _end_before_wait(cluster, namespace: str, restart_count: int) -> Any:
    """Return how the only container ended, where it waits after some restarts; None elsewhere."""
    (pod,) = cluster.core.list_namespaced_pod(namespace).items
    for found in pod.status.container_statuses or []:
        waiting = found.state.waiting
        if (
            waiting
            and waiting.reason == "CrashLoopBackOff"
            and found.restart_count == restart_count
        ):
            return found.last_state.terminated
    return None


def _ending() -> dict[str, Any]:
    """A pod whose container ends at once with an exit code of its own."""
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "ends",
        "image": "none",
        "command": ["sh", "-c", "exit 7"],
        "securityContext": security,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "ends"},
        "spec": {"containers": [container], "automountServiceAccountToken": False},
    }
