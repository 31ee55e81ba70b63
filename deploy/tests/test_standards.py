"""Rendered chart: objects that Kubernetes takes, and that the restricted standard allows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

# The oldest that Chart.yaml allows, one in between, and the newest whose schemas there are.
VERSIONS = ["1.30", "1.34", kubernetes_validate.latest_version()]

# These come with operators, not with Kubernetes.
CUSTOM = {"ServiceMonitor", "HTTPRoute", "GRPCRoute"}


def test_helm_has_no_complaint(complaints: str) -> None:
    assert "1 chart(s) linted, 0 chart(s) failed" in complaints
    assert "[WARNING]" not in complaints


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_knows_every_field(chart, version: str) -> None:
    for manifest in chart.objects:
        if manifest["kind"] not in CUSTOM:
            kubernetes_validate.validate(manifest, version, strict=True)


def test_published_types_and_the_restricted_standard_have_no_fault(
    chart, conform: Callable[[str], str]
) -> None:
    assert conform(chart.text) == ""


def test_routes_are_as_their_published_definitions(chart, definitions) -> None:
    for manifest in chart.objects:
        if manifest["kind"] in definitions:
            jsonschema.validate(manifest, definitions[manifest["kind"]])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_field_that_kubernetes_does_not_know_is_found(production, version: str) -> None:
    for manifest in production.objects:
        if manifest["kind"] not in CUSTOM | {"ConfigMap", "ServiceAccount"}:
            spec = {**manifest["spec"], "replica": 1}
            with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
                kubernetes_validate.validate({**manifest, "spec": spec}, version, strict=True)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Pod"])
@pytest.mark.parametrize(
    ("where", "change", "fault"),
    [
        ("pod", {"securityContext": {}}, "runAsNonRoot"),
        ("pod", {"securityContext": {"runAsNonRoot": True}}, "seccompProfile"),
        ("pod", {"hostNetwork": True}, "host namespaces"),
        ("pod", {"volumes": [{"name": "tmp", "hostPath": {"path": "/"}}]}, "hostPath"),
        ("container", {"securityContext": {}}, "allowPrivilegeEscalation"),
        ("container", {"securityContext": {"privileged": True}}, "privileged"),
        ("container", {"securityContext": {"runAsUser": 0}}, "runAsUser=0"),
        ("container", {"imagee": "one"}, "imagee"),
        ("container", {"ports": [{"hostPort": 1, "containerPort": 1}]}, "hostPort"),
    ],
)
def test_a_pod_that_may_more_is_found(
    production, conform: Callable[[str], str], kind: str, where: str, change, fault: str
) -> None:
    manifest = yaml.safe_load(yaml.safe_dump(production.of_kind(kind)))
    pod = manifest["spec"].get("template", manifest)["spec"]
    (pod if where == "pod" else pod["containers"][0]).update(change)
    assert fault in conform(yaml.safe_dump(manifest))


@pytest.mark.parametrize("kind", sorted(CUSTOM))
def test_a_field_that_an_operator_does_not_know_is_found(
    render: Callable[[Any], Any], conform: Callable[[str], str], definitions, kind: str
) -> None:
    route = {"enabled": True, "hostnames": ["explain.example"]}
    gateway = {"parentRefs": [{"name": "one"}], "httpRoute": route, "grpcRoute": route}
    metrics = {"serviceMonitor": {"enabled": True}}
    manifest = render({"gateway": gateway, "metrics": metrics}).of_kind(kind)
    assert conform(yaml.safe_dump(manifest)) == ""

    manifest["spec"]["hostname"] = []
    assert "hostname" in conform(yaml.safe_dump(manifest))
    if kind in definitions:
        with pytest.raises(jsonschema.ValidationError, match="hostname"):
            jsonschema.validate(manifest, definitions[kind])


@pytest.mark.parametrize(
    ("route", "fault"),
    [
        ({"hostnames": ["UPPER.example"]}, "UPPER"),
        ({"rules": [{"timeouts": {"request": "ten"}}]}, "ten"),
    ],
)
def test_values_that_a_definition_forbids_are_found(definitions, route, fault: str) -> None:
    one = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "spec": route}
    with pytest.raises(jsonschema.ValidationError, match=fault):
        jsonschema.validate(one, definitions["HTTPRoute"])


def test_text_that_is_no_manifest_is_found(conform: Callable[[str], str]) -> None:
    assert "Pot" in conform("apiVersion: v1\nkind: Pot\nmetadata: { name: one }\n")


def test_the_chart_lists_the_images_that_it_renders(render, root: Path) -> None:
    file = root / "deploy/helm/onnxplain/Chart.yaml"
    chart = yaml.safe_load(file.read_text(encoding="utf-8"))
    listed = yaml.safe_load(chart["annotations"]["artifacthub.io/images"])
    rendered = render({"redis": {"enabled": True, "existingSecret": "redis"}})
    images = {one["image"] for pod in rendered.pods() for one in pod["spec"]["containers"]}

    assert {one["image"] for one in listed} == images
