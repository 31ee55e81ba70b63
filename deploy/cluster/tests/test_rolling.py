"""Rolling changes under load: no call is lost, and none is answered wrongly.

Traffic reaches the pods as in a cluster. gRPC callers resolve the headless Service, whose pods the
kubelet writes into the table of hosts. REST callers connect to the ClusterIP, and kube-proxy leads
them to a pod.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import onnxplain
import pytest
import urllib3
from callers import PATIENCE, Caller, Callers, by_client, by_rest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tools.waiting import until

SHORT, LONG, LONGEST = 20, 60, 200
"""Rows: some 20 ms of processor time, half a second, and five seconds."""

SEEDS = range(5)
# Longer than the chart's, since the news of a pod's end may spread slowly on a busy machine.
PAUSE = ["--set", "shutdown.delaySeconds=15"]


@pytest.fixture(scope="module")
def answers() -> dict[int, Sequence[object]]:
    """Right answers by rows and seed, computed here."""
    with onnxplain.local() as local:
        return {count: list(map(by_client(local, count), SEEDS)) for count in (SHORT, LONG)}


@pytest.fixture
def make_callers(answers, cluster) -> Iterator[object]:
    """Callers of a release, by gRPC and by REST, with short and long calls."""
    with ExitStack() as opened:

        def make(release) -> Callers:
            services = cluster.core.read_namespaced_service
            address = services("release-onnxplain", release.namespace).spec.cluster_ip
            url = f"http://{address}:8080"
            until(lambda: _is_ready(url))
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


def _is_ready(url: str) -> bool:
    """Tell whether kube-proxy leads to a pod that is ready."""
    try:
        return urllib3.PoolManager(retries=False).request("GET", f"{url}/readyz").status == 200
    except urllib3.exceptions.HTTPError:
        return False


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


def test_a_running_call_outlasts_the_end_of_its_pod(release, cluster, small) -> None:
    """It is asked to end a second after its deletion, and may finish what it has begun."""
    release.upgrade(*release.values(small))
    (pod,) = release.pods()
    started = threading.Event()

    def noted(_done: float, _planned: float) -> None:
        started.set()

    with (
        onnxplain.connect(f"{pod.status.pod_ip}:8081", retry_count=0) as connected,
        ThreadPoolExecutor() as pool,
    ):
        call = pool.submit(by_client(connected, LONGEST, noted), 0)
        assert started.wait(PATIENCE)
        cluster.core.delete_namespaced_pod(pod.metadata.name, release.namespace)
        until(lambda: "stopping; running work" in release.log())
        is_running = not call.done()
        found = call.result()

    assert is_running
    with onnxplain.local() as local:
        assert np.allclose(found, by_client(local, LONGEST)(0))


def test_a_client_follows_its_service_to_pods_that_it_never_knew(release, cluster, answers) -> None:
    """All addresses that it has are gone, so it must ask for the name again."""
    settings = {"running_count": 2, "extra_count": 0, "thread_count": 1}
    release.upgrade(*release.values({"replicaCount": 2, "settings": settings}))
    old, new = sorted(release.names())
    _serve_by(cluster, release.namespace, old)

    with onnxplain.connect(f"dns:///chosen.{release.namespace}.svc:8081") as connected:
        ask = by_client(connected, SHORT)
        before = ask(0)
        _serve_by(cluster, release.namespace, new)
        cluster.core.delete_namespaced_pod(old, release.namespace)
        release.wait_gone([old])
        after = [ask(seed) for seed in SEEDS]

    assert np.allclose(before, answers[SHORT][0])
    assert np.allclose(after, answers[SHORT])


def _serve_by(cluster, namespace: str, pod: str) -> None:
    """Make a headless Service of one pod, and wait until its name leads there."""
    label = {"chosen": pod}
    cluster.core.patch_namespaced_pod(pod, namespace, {"metadata": {"labels": label}})
    ports = [client.V1ServicePort(port=8081)]
    spec = client.V1ServiceSpec(cluster_ip="None", selector=label, ports=ports)
    metadata = client.V1ObjectMeta(name="chosen")
    service = client.V1Service(metadata=metadata, spec=spec)
    try:
        cluster.core.create_namespaced_service(namespace, service)
    except ApiException as error:
        if error.status != 409:
            raise
        cluster.core.patch_namespaced_service("chosen", namespace, {"spec": {"selector": label}})
    address = cluster.core.read_namespaced_pod(pod, namespace).status.pod_ip
    host = f"chosen.{namespace}.svc"
    until(lambda: _addresses(host) == {address})


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, 8081)}
    except socket.gaierror:
        return set()
