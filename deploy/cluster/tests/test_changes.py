"""Upgrades that change what Kubernetes keeps or refuses to change."""

from __future__ import annotations

import time

import pytest

from tools.waiting import until


def test_an_autoscaler_takes_over_the_present_number_of_replicas(release, small) -> None:
    three = release.values({**small, "replicaCount": 3})
    release.upgrade(*three)
    counts = []

    release.upgrade(*three, "--set", "autoscaling.enabled=true")
    end = time.monotonic() + 5
    while time.monotonic() < end:
        counts.append(release.deployment().spec.replicas)
        time.sleep(0.1)

    assert set(counts) == {3}


def test_a_headless_service_stays_so_and_says_how_to_change_it(release, cluster, small) -> None:
    given = release.values(small)
    release.upgrade(*given)
    change = [*given, "--set", "service.grpc.headless=false"]

    said = release.refusal(*change)
    name = "release-onnxplain-grpc"
    cluster.core.delete_namespaced_service(name, release.namespace)
    release.upgrade(*change)

    assert f"kubectl delete service {name} --namespace {release.namespace}" in said
    service = cluster.core.read_namespaced_service(name, release.namespace)
    assert service.spec.cluster_ip != "None"


@pytest.mark.usefixtures("redis_secret")
def test_volumes_of_redis_stay_and_the_refusal_says_how_to_change_them(
    release, cluster, small
) -> None:
    values = {**small, "redis": {"enabled": True, "existingSecret": "onnxplain-redis"}}
    given = release.values(values)
    release.upgrade(*given)
    change = [*given, "--set", "redis.persistence.enabled=true"]
    change += ["--set", "redis.persistence.storageClassName=fast"]

    said = release.refusal(*change)
    name = "release-onnxplain-redis"
    cluster.apps.delete_namespaced_stateful_set(name, release.namespace)
    until(lambda: not _exists(cluster, name, release.namespace))
    release.upgrade(*change)
    release.upgrade(*change)

    assert f"kubectl delete statefulset {name} --namespace {release.namespace}" in said
    claims = cluster.core.list_namespaced_persistent_volume_claim(release.namespace).items
    assert [claim.spec.storage_class_name for claim in claims] == ["fast"]
    assert "redis.persistence" in release.refusal(*change, "--set", "redis.persistence.size=3Gi")

    release.helm("uninstall", "--wait")
    list_claims = cluster.core.list_namespaced_persistent_volume_claim
    until(lambda: not list_claims(release.namespace).items)


def _exists(cluster, name: str, namespace: str) -> bool:
    found = cluster.apps.list_namespaced_stateful_set(namespace).items
    return name in {one.metadata.name for one in found}
