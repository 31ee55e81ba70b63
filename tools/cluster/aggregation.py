"""Aggregation layer: registers an API that a server of its own answers."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from kubernetes import client, utils

NAMESPACE, SERVICE = "metrics", "metrics"
HOST = f"{SERVICE}.{NAMESPACE}.svc"
"""Name of the server, which its certificate has to show."""


def register(
    api: client.ApiClient, versions: tuple[str, ...], address: str, port: int, authority: Path
) -> None:
    """Register an APIService of each group and version, such as `metrics.k8s.io/v1beta1`."""
    for one in (*_endpoint(address, port), *(_service(name, authority) for name in versions)):
        utils.create_from_dict(api, one)


def is_available(api: client.ApiClient, version: str) -> bool:
    """Return whether the API server reaches the server of a group and version."""
    found: Any = client.ApiregistrationV1Api(api).read_api_service(_name(version))
    conditions = (found.status and found.status.conditions) or []
    return any(one.type == "Available" and one.status == "True" for one in conditions)


def _endpoint(address: str, port: int) -> list[dict[str, Any]]:
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    labels = {"kubernetes.io/service-name": SERVICE}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": SERVICE, "namespace": NAMESPACE, "labels": labels},
            "addressType": "IPv4",
            "ports": ports,
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        },
    ]


def _service(version: str, authority: Path) -> dict[str, Any]:
    group, short = version.split("/")
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": _name(version)},
        "spec": {
            "group": group,
            "version": short,
            "service": {"name": SERVICE, "namespace": NAMESPACE, "port": 443},
            "caBundle": base64.b64encode(authority.read_bytes()).decode(),
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


def _name(version: str) -> str:
    group, short = version.split("/")
    return f"{short}.{group}"
