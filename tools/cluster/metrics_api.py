"""Metrics API: serves to autoscalers what pods use, and the metrics that pods tell.

The API server forwards `metrics.k8s.io` and `custom.metrics.k8s.io` to it by its aggregation layer,
as it does to metrics-server and prometheus-adapter.
"""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import urlopen

from kubernetes import client
from prometheus_client.parser import text_string_to_metric_families

from tools.cluster.pod_process import PodProcess, now
from tools.cluster.usage import WINDOW_SECONDS, Meter

USAGE = "metrics.k8s.io/v1beta1"
CUSTOM = "custom.metrics.k8s.io/v1beta2"
ADDRESS, PORT = "10.199.0.2", 4443
"""Of the server; the API server connects to no loopback address."""

_USAGE_PATH = re.compile(rf"/apis/{USAGE}/namespaces/([^/]+)/pods")
_CUSTOM_PATH = re.compile(rf"/apis/{CUSTOM}/namespaces/([^/]+)/pods/\*/([^/]+)")


class MetricsApi:
    """Serves metrics until it is stopped.

    Parameters
    ----------
    api : ApiClient
    pods : mapping of str to PodProcess
        Those that run, by their uid; it may change.
    certificate, key : Path
        Of the server.
    """

    def __init__(
        self, api: client.ApiClient, pods: Mapping[str, PodProcess], certificate: Path, key: Path
    ) -> None:
        self._core = client.CoreV1Api(api)
        self._pods = pods
        self._meter = Meter(pods)
        subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        self._server = ThreadingHTTPServer((ADDRESS, PORT), self._handler())
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._loop = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._loop.start()

    def stop(self) -> None:
        """Answer no more."""
        self._meter.stop()
        self._server.shutdown()
        self._loop.join()
        self._server.server_close()

    def answer(self, path: str, selector: str) -> dict[str, Any] | None:
        """Return what is at a path, of the pods with some labels; None where there is nothing."""
        if path == f"/apis/{USAGE}":
            return _resources(USAGE, "pods", "PodMetrics")
        if path == f"/apis/{CUSTOM}":
            return _resources(CUSTOM, "pods/*", "MetricValueList")
        if match := _USAGE_PATH.fullmatch(path):
            return _list(
                "PodMetricsList", USAGE, map(self._usage, self._select(match[1], selector))
            )
        if match := _CUSTOM_PATH.fullmatch(path):
            pods = self._select(match[1], selector)
            return _list("MetricValueList", CUSTOM, (_value(pod, match[2]) for pod in pods))
        return None

    def _select(self, namespace: str, selector: str) -> Sequence[PodProcess]:
        found: Any = self._core.list_namespaced_pod(namespace, label_selector=selector)
        processes = [self._pods.get(pod.metadata.uid) for pod in found.items]
        return [process for process in processes if process is not None]

    def _usage(self, process: PodProcess) -> dict[str, Any] | None:
        metadata = process.pod.metadata
        usage = self._meter.usage(metadata.uid)
        if usage is None:
            return None
        used = {
            "cpu": f"{round(usage.processors * 1e9)}n",
            "memory": f"{usage.memory_bytes // 1024}Ki",
        }
        return {
            "metadata": {"name": metadata.name, "namespace": metadata.namespace},
            "timestamp": now(),
            "window": f"{WINDOW_SECONDS}s",
            "containers": [{"name": process.pod.spec.containers[0].name, "usage": used}],
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                found = answer(unquote(url.path), parse_qs(url.query).get("labelSelector", [""])[0])
                content = json.dumps(found or {"kind": "Status", "apiVersion": "v1"}).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def _value(process: PodProcess, name: str) -> dict[str, Any] | None:
    """Return a metric of a pod as the pod tells it at present; None where it does not."""
    metadata = process.pod.metadata
    ports = {port.name: port.container_port for port in process.pod.spec.containers[0].ports or []}
    with suppress(OSError):
        with urlopen(f"http://{process.address}:{ports.get('metrics')}/metrics", timeout=5) as page:
            families = text_string_to_metric_families(page.read().decode())
        values = [one.value for family in families for one in family.samples if one.name == name]
        if values:
            return {
                "describedObject": {
                    "kind": "Pod",
                    "apiVersion": "/v1",
                    "name": metadata.name,
                    "namespace": metadata.namespace,
                },
                "metric": {"name": name},
                "timestamp": now(),
                "value": f"{round(sum(values) * 1000)}m",
            }
    return None


def _resources(version: str, name: str, kind: str) -> dict[str, Any]:
    resource = {
        "name": name,
        "singularName": "",
        "namespaced": True,
        "kind": kind,
        "verbs": ["get", "list"],
    }
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": version,
        "resources": [resource],
    }


def _list(kind: str, version: str, items: Any) -> dict[str, Any]:
    found = [item for item in items if item is not None]
    return {"kind": kind, "apiVersion": version, "metadata": {}, "items": found}
