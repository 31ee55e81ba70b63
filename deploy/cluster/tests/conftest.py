"""The chart on a real control plane: `make test-cluster` starts it in namespaces of its own."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from authority import Authority
from kubernetes import client, utils
from kubernetes.client.exceptions import ApiException
from releases import ROOT, Cluster, Release

from tools.cluster import aggregation, metrics_api
from tools.cluster.control_plane import ControlPlane
from tools.cluster.kubelet import Kubelet
from tools.cluster.metrics_api import MetricsApi
from tools.cluster.service_proxy import ServiceProxy
from tools.waiting import until

BINARIES = "CONTROL_PLANE"
"""Variable with the folder of the control plane's programs."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane with three nodes in two zones."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = tmp_path_factory.mktemp("cluster")
    pods = folder / "pods"
    pods.mkdir()
    with ExitStack() as running:
        binaries = Path(os.environ[BINARIES])
        plane = ControlPlane(binaries, folder)
        running.callback(plane.stop)
        _prepare(plane.api)
        kubelet = Kubelet(plane.api, pods, ["a", "b", "c"])
        running.callback(kubelet.stop)
        running.callback(_serve_metrics(plane, kubelet, folder).stop)
        proxy = ServiceProxy(binaries, plane.kubeconfig, folder)
        running.callback(proxy.stop)
        # The tests resolve names as pods do; `make test-cluster` gives them mounts of their own.
        subprocess.run(["mount", "--bind", kubelet.hosts, "/etc/hosts"], check=True)
        running.callback(subprocess.run, ["umount", "/etc/hosts"], check=True)
        yield Cluster(plane, kubelet)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace that enforces the restricted standard; deleted in the end."""
    name = f"models-{secrets.token_hex(3)}"
    labels = {
        f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")
    }
    cluster.core.create_namespace(
        client.V1Namespace(metadata=client.V1ObjectMeta(name=name, labels=labels))
    )
    # Pods are refused before it has an account for them.
    until(lambda: cluster.core.list_namespaced_service_account(name).items)
    yield name
    # Its controller would look again after a part of the pods' grace period only.
    cluster.apps.delete_collection_namespaced_deployment(name)
    until(lambda: not _server_pods(cluster, name))
    cluster.core.delete_namespace(name)
    until(lambda: _is_gone(cluster, name))


@pytest.fixture
def release(cluster: Cluster, namespace: str, tmp_path: Path) -> Release:
    return Release(cluster, namespace, tmp_path)


@pytest.fixture
def small() -> Mapping[str, Any]:
    """Values of one small pod."""
    settings = {"running_count": 1, "extra_count": 0, "thread_count": 1}
    return {"replicaCount": 1, "settings": settings}


@pytest.fixture
def make_secret(cluster: Cluster, namespace: str) -> Callable[..., None]:
    """Create a Secret, or replace it."""

    def make(name: str, **entries: str) -> None:
        secret = client.V1Secret(
            metadata=client.V1ObjectMeta(name=name),
            string_data={key.replace("_", "-"): value for key, value in entries.items()},
        )
        try:
            cluster.core.create_namespaced_secret(namespace, secret)
        except ApiException as error:
            if error.status != 409:
                raise
            cluster.core.replace_namespaced_secret(name, namespace, secret)

    return make


@pytest.fixture
def redis_secret(make_secret: Callable[..., None]) -> None:
    make_secret("onnxplain-redis", password="0123456789abcdef" * 2, cache_secret="f" * 32)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    folder = tmp_path / "authority"
    folder.mkdir()
    return Authority(folder)


def _serve_metrics(plane: ControlPlane, kubelet: Kubelet, folder: Path) -> MetricsApi:
    authority = Authority(folder)
    metrics = MetricsApi(plane.api, kubelet.pods, *authority.issue("metrics", aggregation.HOST))
    versions = (metrics_api.USAGE, metrics_api.CUSTOM)
    address = (metrics_api.ADDRESS, metrics_api.PORT)
    aggregation.register(plane.api, versions, *address, authority.file)
    until(lambda: all(aggregation.is_available(plane.api, one) for one in versions))
    return metrics


def _server_pods(cluster: Cluster, namespace: str) -> Sequence[Any]:
    selector = "app.kubernetes.io/component=server"
    found: Any = cluster.core.list_namespaced_pod(namespace, label_selector=selector)
    return list(found.items)


def _is_gone(cluster: Cluster, namespace: str) -> bool:
    namespaces: Any = cluster.core.list_namespace()
    return namespace not in {one.metadata.name for one in namespaces.items}


def _prepare(api: client.ApiClient) -> None:
    """Create what a cluster has before anything is installed."""
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "serving"},
            "value": 1000,
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        *map(_volume, range(4)),
        _monitors(),
    ]
    definitions = (ROOT / "tools/kubernetes/bin/crds").glob("*.yaml")
    objects += [yaml.safe_load(file.read_text(encoding="utf-8")) for file in definitions]
    for one in objects:
        utils.create_from_dict(api, one)


def _volume(number: int) -> dict[str, Any]:
    """A volume for a claim; its folder is never used."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"volume-{number}"},
        "spec": {
            "storageClassName": "fast",
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": f"/nowhere/{number}"},
        },
    }


def _monitors() -> dict[str, Any]:
    """The Prometheus operator's definition, open to all fields: `make chart` checks these."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": "ServiceMonitor", "plural": "servicemonitors"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
