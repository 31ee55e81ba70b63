"""Rolling changes under load: no call is lost, and none is answered wrongly.

Traffic reaches the pods as in a cluster. gRPC callers resolve the headless Service, whose pods the
kubelet writes into the table of hosts. REST callers connect to the ClusterIP, and kube-proxy leads
them to a pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import onnxplain
import pytest
import urllib3
from callers import Caller, Callers, by_client, by_rest

SHORT, LONG = 20, 100
"""Rows: a few milliseconds of processor time, and a second."""

SEEDS = range(5)
# Longer than the chart's, since the news of a pod's end may spread slowly on a busy machine.
PAUSE = ["--set", "shutdown.delaySeconds=15"]


@pytest.fixture(scope="module")
def answers() -> dict[int, Sequence[object]]:
    """Right answers by rows and seed, computed here."""
    with onnxplain.local() as client:
        return {count: list(map(by_client(client, count), SEEDS)) for count in (SHORT, LONG)}


@pytest.fixture
def make_callers(answers, cluster) -> Iterator[object]:
    """Callers of a release, by gRPC and by REST, with short and long calls."""
    with ExitStack() as opened:

        def make(release) -> Callers:
            services = cluster.core.read_namespaced_service
            address = services("release-onnxplain", release.namespace).spec.cluster_ip
            url = f"http://{address}:8080"
            name = f"dns:///release-onnxplain-grpc.{release.namespace}.svc:8081"
            clients = [opened.enter_context(onnxplain.connect(name)) for _ in range(2)]
            return Callers(
                [
                    Caller(by_client(clients[0], SHORT), answers[SHORT]),
                    Caller(by_client(clients[1], LONG), answers[LONG]),
                    Caller(by_rest(url, SHORT), answers[SHORT]),
                    Caller(by_rest(url, LONG), answers[LONG]),
                    Caller(by_rest(url, SHORT, _patient_pool()), answers[SHORT]),
                ]
            )

        yield make


def _patient_pool() -> urllib3.PoolManager:
    """Keep connections, and ask again after the time that a stopping server names."""
    retry = urllib3.Retry(10, status_forcelist=[503], allowed_methods=["POST"], backoff_factor=0.1)
    return urllib3.PoolManager(retries=retry)


def test_no_call_is_lost_in_an_upgrade_scaling_and_a_rollback(release, make_callers) -> None:
    settings = {"running_count": 2, "extra_count": 0, "thread_count": 1, "cache_bytes": 0}
    values = [*release.values({"replicaCount": 2, "settings": settings}), *PAUSE]
    release.upgrade(*values)

    with make_callers(release) as callers:
        callers.wait_answers()
        first = release.names()
        release.upgrade(*values, "--set", "podAnnotations.changed=yes")
        release.wait_gone(first)
        callers.wait_answers()
        second = release.names()
        release.scale(1)
        release.wait_gone(second - release.names())
        callers.wait_answers()
        release.scale(2)
        callers.wait_answers()
        second = release.names()
        release.helm("rollback", "1", "--wait")
        release.wait_gone(second)
        callers.wait_answers()

    assert callers.faults == []
    assert len(first) == len(release.names()) == 2
    assert release.names().isdisjoint(first | second)
