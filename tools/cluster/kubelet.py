"""Kubelet of processes: runs the pods that are bound to its nodes, and reports their status."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tools.cluster.pod_process import PodProcess
from tools.cluster.pod_spec import MissingError, PodFiles
from tools.cluster.pod_status import status_of

_POLL_SECONDS = 0.25


class Kubelet:
    """Runs pods until it is stopped, on nodes that it registers.

    Parameters
    ----------
    api : ApiClient
    folder : Path
        For the files of pods.
    zones : sequence of str
        One node in each.
    """

    def __init__(self, api: client.ApiClient, folder: Path, zones: Iterable[str]) -> None:
        self._core = client.CoreV1Api(api)
        self._discovery = client.DiscoveryV1Api(api)
        self._folder = folder
        self._hosts = folder / "hosts"
        self._hosts.write_text("127.0.0.1 localhost\n", encoding="utf-8")
        self._count = 0
        self._ending: set[str] = set()
        self.pods: dict[str, PodProcess] = {}
        for zone in zones:
            self._core.create_node(_node(zone))
        self._stopping = threading.Event()
        self._loop = threading.Thread(target=self._run, daemon=True)
        self._loop.start()

    @property
    def hosts(self) -> Path:
        """Table of host names: each Service's, with the addresses of its ready pods."""
        return self._hosts

    def stop(self) -> None:
        """Kill all pods."""
        self._stopping.set()
        self._loop.join()
        for process in list(self.pods.values()):
            process.stop(0)

    def _run(self) -> None:
        while not self._stopping.wait(_POLL_SECONDS):
            pods: Any = self._core.list_pod_for_all_namespaces()
            for pod in pods.items:
                if pod.spec.node_name:
                    self._reconcile(pod)
            self._write_hosts()

    def _reconcile(self, pod: Any) -> None:
        uid = pod.metadata.uid
        if pod.metadata.deletion_timestamp is not None:
            if uid not in self._ending:
                self._ending.add(uid)
                threading.Thread(target=self._end, args=(pod,), daemon=True).start()
            return
        process = self.pods.get(uid)
        if process is None and pod.status.phase not in {"Succeeded", "Failed"}:
            process = self._start(pod)
        if process is not None:
            # Those of a process that has ended may be gone already.
            with suppress(MissingError):
                process.refresh_files()
            self._report(pod, process)

    def _start(self, pod: Any) -> PodProcess | None:
        self._count += 1
        address = f"10.200.{self._count // 250}.{self._count % 250 + 1}"
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
        files = PodFiles(self._core, pod.metadata.namespace)
        folder = self._folder / f"{pod.metadata.name}-{pod.metadata.uid[:8]}"
        try:
            process = PodProcess(pod, address, files, self._hosts, folder)
        except MissingError:
            shutil.rmtree(folder, ignore_errors=True)
            return None  # tried again, as a kubelet does
        self.pods[pod.metadata.uid] = process
        return process

    def _end(self, pod: Any) -> None:
        process = self.pods.get(pod.metadata.uid)
        if process is not None:
            process.stop(pod.metadata.deletion_grace_period_seconds or 0)
            del self.pods[pod.metadata.uid]
        self._ignore_missing(
            self._core.delete_namespaced_pod,
            pod.metadata.name,
            pod.metadata.namespace,
            grace_period_seconds=0,
        )

    def _report(self, pod: Any, process: PodProcess) -> None:
        status = status_of(process)
        if status == process.reported:
            return
        process.reported = status
        self._ignore_missing(
            self._core.patch_namespaced_pod_status,
            pod.metadata.name,
            pod.metadata.namespace,
            {"status": status},
        )

    def _write_hosts(self) -> None:
        lines = ["127.0.0.1 localhost"]
        slices: Any = self._discovery.list_endpoint_slice_for_all_namespaces()
        for part in slices.items:
            service = (part.metadata.labels or {}).get("kubernetes.io/service-name")
            names = f"{service} {service}.{part.metadata.namespace}.svc"
            for endpoint in part.endpoints or []:
                if endpoint.conditions.ready:
                    lines += [f"{address} {names}" for address in endpoint.addresses]
        text = "\n".join(lines) + "\n"
        if text != self._hosts.read_text(encoding="utf-8"):
            # In place: it is mounted in the pods.
            self._hosts.write_text(text, encoding="utf-8")

    @staticmethod
    def _ignore_missing(call: Any, *arguments: Any, **named: Any) -> None:
        try:
            call(*arguments, **named)
        except ApiException as error:
            if error.status not in {404, 409}:
                raise


def _node(zone: str) -> client.V1Node:
    resources = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    labels = {
        "kubernetes.io/hostname": f"node-{zone}",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone,
    }
    return client.V1Node(
        metadata=client.V1ObjectMeta(name=f"node-{zone}", labels=labels),
        status=client.V1NodeStatus(
            capacity=resources,
            allocatable=resources,
            conditions=[client.V1NodeCondition(type="Ready", status="True", reason="Processes")],
        ),
    )
