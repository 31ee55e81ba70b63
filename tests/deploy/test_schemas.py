"""The files of `deploy/` are what compose and Kubernetes read, and their parts find each other."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any
from urllib.request import urlopen

import grpc
import jsonschema
import kubernetes_validate
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from onnxplain_server.serve import Server

OLDEST = "1.30"
"""Of Kubernetes, as deploy/README.md says."""

MIDDLE = "1.34"


@pytest.mark.parametrize("version", [OLDEST, MIDDLE, kubernetes_validate.latest_version()])
def test_kubernetes_knows_every_field(manifest: list[Any], version: str) -> None:
    for document in manifest:
        kubernetes_validate.validate(document, version, strict=True)


def test_compose_knows_every_field(compose) -> None:
    vendored = files("check_jsonschema.builtin_schemas.vendor") / "compose-spec.json"
    jsonschema.validate(compose, json.loads(vendored.read_text(encoding="utf-8")))


def test_selectors_find_the_pods(manifest: list[Any]) -> None:
    by_kind = {one["kind"]: one["spec"] for one in manifest if "spec" in one}
    labels = by_kind["Deployment"]["template"]["metadata"]["labels"]
    services = [one["spec"]["selector"] for one in manifest if one["kind"] == "Service"]
    assert services == [labels, labels]
    for selector in (
        by_kind["Deployment"]["selector"],
        by_kind["PodDisruptionBudget"]["selector"],
        by_kind["NetworkPolicy"]["podSelector"],
    ):
        assert selector == {"matchLabels": labels}


def test_services_lead_to_ports_of_the_container(manifest: list[Any], container) -> None:
    names = {port["name"] for port in container["ports"]}
    services = {
        one["metadata"]["name"]: one["spec"] for one in manifest if one["kind"] == "Service"
    }
    targets = [port["targetPort"] for spec in services.values() for port in spec["ports"]]
    assert targets == ["rest", "grpc"]
    assert set(targets) < names
    assert services["onnxplain-grpc"]["clusterIP"] == "None"


def test_probes_are_answered(container, server: Server) -> None:
    for name in ("startupProbe", "livenessProbe"):
        path = container[name]["httpGet"]["path"]
        with urlopen(f"http://127.0.0.1:{server.rest_port}{path}", timeout=120) as reply:
            assert reply.status == 200
    asked = health_pb2.HealthCheckRequest(service=container["readinessProbe"]["grpc"]["service"])
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        reply = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=120)
    assert reply.status == health_pb2.HealthCheckResponse.SERVING


def test_metrics_are_where_the_annotations_say(
    manifest: list[Any], container, server: Server
) -> None:
    (deployment,) = [one for one in manifest if one["kind"] == "Deployment"]
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]
    ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
    assert annotations["prometheus.io/port"] == ports["metrics"]
    url = f"http://127.0.0.1:{server.metrics_port}{annotations['prometheus.io/path']}"
    with urlopen(url, timeout=120) as reply:
        assert b"onnxplain_build_info{" in reply.read()
