"""Evictions, as a drained node asks for them, keep to the PodDisruptionBudget."""

from __future__ import annotations

from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tools.waiting import until


def test_a_second_eviction_waits_until_the_first_pod_is_replaced(release, cluster, small) -> None:
    release.upgrade(*release.values({**small, "replicaCount": 2}))
    until(lambda: _allowed(cluster, release.namespace) == 1)
    first, second = sorted(release.names())

    evicted = _evict(cluster, release.namespace, first)
    refused = _evict(cluster, release.namespace, second)
    assert (evicted, refused) == (201, 429)
    until(lambda: _allowed(cluster, release.namespace) == 1)
    release.wait_ready(2)

    assert _evict(cluster, release.namespace, second) == 201
    release.wait_gone([first, second])
    release.wait_ready(2)


def _allowed(cluster, namespace: str):
    (budget,) = cluster.policy.list_namespaced_pod_disruption_budget(namespace).items
    return budget.status.disruptions_allowed


def _evict(cluster, namespace: str, name: str) -> int:
    """Return the status of an eviction."""
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=name, namespace=namespace))
    call: Any = cluster.core.create_namespaced_pod_eviction_with_http_info
    try:
        _, status, _ = call(name, namespace, eviction)
    except ApiException as error:
        return int(error.status)
    return int(status)
