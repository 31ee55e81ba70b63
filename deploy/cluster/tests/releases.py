"""Releases of the chart on a cluster, by helm."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client

from tools.cluster.control_plane import ControlPlane
from tools.cluster.kubelet import Kubelet
from tools.waiting import until

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy/helm/onnxplain"
HELM = ROOT / "tools/kubernetes/bin/helm"
# A pod's time to leave is the tests' time to wait.
QUICK = ["--set", "shutdown.delaySeconds=1"]


class Cluster:
    """A control plane with a kubelet, and helm for it."""

    def __init__(self, plane: ControlPlane, kubelet: Kubelet) -> None:
        self.plane = plane
        self.kubelet = kubelet
        self.core = client.CoreV1Api(plane.api)
        self.apps = client.AppsV1Api(plane.api)
        self.autoscaling = client.AutoscalingV2Api(plane.api)
        self.policy = client.PolicyV1Api(plane.api)

    def helm(self, *arguments: str | Path) -> str:
        """Return what helm prints; AssertionError with what it complains of."""
        ran = self.try_helm(*arguments)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def try_helm(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run helm, whatever comes of it."""
        return subprocess.run(
            [HELM, *arguments],
            env={**os.environ, "KUBECONFIG": str(self.plane.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )


class Release:
    """A release of the chart in a namespace of its own."""

    def __init__(self, cluster: Cluster, namespace: str, folder: Path) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.name = "release"
        self._folder = folder

    def upgrade(self, *arguments: str | Path, chart: Path = CHART) -> str:
        """Install or upgrade, and wait until it runs."""
        return self.cluster.helm(*self._upgrade(chart, arguments))

    def refusal(self, *arguments: str | Path) -> str:
        """Return how an upgrade is refused."""
        ran = self.cluster.try_helm(*self._upgrade(CHART, arguments))
        assert ran.returncode != 0, ran.stdout
        return ran.stderr

    def values(self, values: Mapping[str, Any]) -> list[str]:
        """Write values into a file; return the flag that names it."""
        file = self._folder / f"{secrets.token_hex(4)}.yaml"
        file.write_text(yaml.safe_dump(values), encoding="utf-8")
        return ["--values", str(file)]

    def helm(self, command: str, *arguments: str) -> str:
        """Run a command of helm on the release."""
        return self.cluster.helm(command, self.name, *arguments, "--namespace", self.namespace)

    def pods(self, part: str = "server") -> Sequence[Any]:
        """Return the pods of a part that are not on their way out."""
        selector = f"app.kubernetes.io/component={part}"
        found: Any = self.cluster.core.list_namespaced_pod(self.namespace, label_selector=selector)
        return [pod for pod in found.items if pod.metadata.deletion_timestamp is None]

    def names(self) -> set[str]:
        """Return the names of the server's pods that are not on their way out."""
        return {pod.metadata.name for pod in self.pods()}

    def wait_gone(self, names: Collection[str]) -> None:
        """Wait until pods have ended."""
        core: Any = self.cluster.core
        until(
            lambda: all(
                pod.metadata.name not in names
                for pod in core.list_namespaced_pod(self.namespace).items
            )
        )

    def deployment(self) -> Any:
        (only,) = self.cluster.apps.list_namespaced_deployment(self.namespace).items
        return only

    def scale(self, count: int) -> None:
        """Set the number of pods, as `kubectl scale` does, and wait until as many are ready."""
        name = self.deployment().metadata.name
        self.cluster.apps.patch_namespaced_deployment_scale(
            name, self.namespace, {"spec": {"replicas": count}}
        )
        self.wait_ready(count)

    def wait_ready(self, count: int) -> None:
        """Wait until there are so many pods, all of them ready."""
        until(lambda: self.deployment().status.ready_replicas == len(self.pods()) == count)

    def log(self) -> str:
        """Return the output of all pods of the namespace that run."""
        running = self.cluster.kubelet.pods.values()
        return "\n".join(
            f"{process.pod.metadata.name}: {process.log[-2000:]}"
            for process in running
            if process.pod.metadata.namespace == self.namespace
        )

    def _upgrade(self, chart: Path, arguments: Sequence[str | Path]) -> list[str | Path]:
        command: list[str | Path] = ["upgrade", "--install", self.name, chart, "--wait"]
        return [*command, "--timeout", "10m", "--namespace", self.namespace, *QUICK, *arguments]
