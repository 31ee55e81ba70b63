"""The rendered manifests, by kustomize and server-side apply, as `kubectl apply -k` does."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml
from kubernetes import dynamic
from kubernetes.client.exceptions import ApiException
from releases import ROOT

from tools.waiting import until

KUSTOMIZE = ROOT / "tools/kubernetes/bin/kustomize"


@pytest.fixture(scope="module")
def manifests() -> list[dict[str, Any]]:
    built = subprocess.run(
        [KUSTOMIZE, "build", ROOT / "deploy/manifests"], capture_output=True, text=True, check=True
    )
    return list(yaml.safe_load_all(built.stdout))


class Applier:
    """Server-side apply of objects to a namespace, in the name of a manager of fields."""

    def __init__(self, cluster, namespace: str) -> None:
        self._client: Any = dynamic.DynamicClient(cluster.plane.api)
        self._namespace = namespace

    def apply(self, manifests, manager: str = "tests") -> list[tuple[str, str, int]]:
        """Return kind, version and generation of each object; ApiException for conflicts."""
        return [self._apply_one(manifest, manager) for manifest in manifests]

    def _apply_one(self, manifest, manager: str) -> tuple[str, str, int]:
        resource = self._client.resources.get(
            api_version=manifest["apiVersion"], kind=manifest["kind"]
        )
        applied = resource.server_side_apply(
            manifest, namespace=self._namespace, field_manager=manager
        ).metadata
        return manifest["kind"], applied.uid, applied.generation or 0


def test_manifests_apply_twice_without_conflict_or_change(cluster, namespace, manifests) -> None:
    applier = Applier(cluster, namespace)

    first = applier.apply(manifests)
    until(lambda: _ready_count(cluster, namespace) == 1)
    second = applier.apply(manifests)

    assert {kind for kind, _, _ in first} >= {"Deployment", "Service", "NetworkPolicy"}
    assert second == first
    assert _ready_count(cluster, namespace) == 1


def test_a_changed_field_of_another_manager_is_a_conflict(cluster, namespace, manifests) -> None:
    """So that the test above would find one."""
    deployments = [each for each in manifests if each["kind"] == "Deployment"]
    paused = yaml.safe_load(yaml.safe_dump(deployments))
    paused[0]["spec"] |= {"paused": True, "replicas": 3}
    applier = Applier(cluster, namespace)
    applier.apply(paused, "others")

    with pytest.raises(ApiException) as refused:
        applier.apply(deployments)

    assert refused.value.status == 409
    assert ".spec.replicas" in str(refused.value.body)


def _ready_count(cluster, namespace: str) -> int:
    (deployment,) = cluster.apps.list_namespaced_deployment(namespace).items
    return deployment.status.ready_replicas or 0
