"""Values that add to pods and objects, or name what other operators read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

Render = Callable[[Any], Any]


def test_containers_and_objects_are_added(render: Render) -> None:
    proxy, first = {"name": "proxy", "image": "proxy:1"}, {"name": "first", "image": "first:1"}
    of_text = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-text }"
    of_values = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-values"}}

    rendered = render(
        {
            "extraContainers": [proxy],
            "initContainers": [first],
            "extraObjects": [of_text, of_values],
        }
    )

    assert rendered.server["containers"][1:] == [proxy]
    assert rendered.server["initContainers"] == [first]
    names = {one["metadata"]["name"] for one in rendered.all_of("ConfigMap")}
    assert names >= {"release-text", "of-values"}


def test_annotations_of_all_objects_lose_to_those_of_one(render: Render) -> None:
    rendered = render(
        {
            "commonAnnotations": {"owner": "all", "team": "risk"},
            "service": {"grpc": {"annotations": {"owner": "one"}}},
            "redis": {"enabled": True, "existingSecret": "redis"},
        }
    )

    for one in rendered.objects:
        grpc = one["kind"] == "Service" and one["metadata"]["name"].endswith("-grpc")
        assert one["metadata"]["annotations"]["owner"] == ("one" if grpc else "all")
        assert one["metadata"]["annotations"]["team"] == "risk"
    pod = rendered.of_kind("Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert pod["owner"] == "all"
    assert pod["prometheus.io/port"] == "8082"


def test_a_mirror_serves_all_images_and_its_secrets_are_added(render: Render) -> None:
    rendered = render(
        {
            "global": {"imageRegistry": "mirror.example", "imagePullSecrets": [{"name": "a"}]},
            "imagePullSecrets": [{"name": "b"}],
            "redis": {"enabled": True, "existingSecret": "redis"},
        }
    )

    for pod in rendered.pods():
        assert pod["spec"]["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
        for container in pod["spec"]["containers"]:
            assert container["image"].startswith("mirror.example/")


def test_paths_of_ingresses_are_those_of_the_values(render: Render) -> None:
    paths = [{"path": "/v1", "pathType": "Exact"}, {"path": "/v2", "pathType": "Prefix"}]

    ingress = render({"ingress": {"enabled": True, "hosts": ["a.example"], "paths": paths}})

    (rule,) = ingress.of_kind("Ingress")["spec"]["rules"]
    found = [{name: one[name] for name in ("path", "pathType")} for one in rule["http"]["paths"]]
    assert found == paths


@pytest.mark.parametrize(
    ("variable", "port"),
    [
        ({"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4317"}, 4317),
        ({"name": "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "value": "https://collector/v1"}, 443),
    ],
)
def test_the_collector_of_traces_is_reached(render: Render, variable, port: int) -> None:
    policy = render({"extraEnv": [variable]}).of_kind("NetworkPolicy", "release-onnxplain")

    ports = [one["port"] for rule in policy["spec"]["egress"] for one in rule["ports"]]
    assert ports == [53, 53, port]


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_monitors_take_labels_and_rules(
    render: Render, conform: Callable[[str], str], kind: str
) -> None:
    rules = [{"action": "keep", "regex": "a", "sourceLabels": ["b"]}]
    monitor = {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "jobLabel": "app.kubernetes.io/name",
        "relabelings": rules,
        "metricRelabelings": rules,
    }

    rendered = render({"metrics": {f"{kind[0].lower()}{kind[1:]}": monitor}})

    assert conform(rendered.text) == ""
    found = rendered.of_kind(kind)
    assert found["metadata"]["labels"]["release"] == "prometheus"
    spec = found["spec"]
    assert spec["jobLabel"] == "app.kubernetes.io/name"
    (endpoint,) = spec["endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"]
    assert endpoint["relabelings"] == endpoint["metricRelabelings"] == rules
    (labels,) = [
        one["metadata"]["labels"]
        for one in (
            rendered.all_of("Service")[-3:]
            if kind == "ServiceMonitor"
            else [rendered.of_kind("Deployment")["spec"]["template"]]
        )
        if spec["selector"]["matchLabels"].items() <= one["metadata"]["labels"].items()
    ]
    assert labels["app.kubernetes.io/instance"] == "release"
    assert "prometheus.io/scrape" not in rendered.text


def test_alerts_and_dashboard_are_those_of_the_repository(
    render: Render, conform: Callable[[str], str], root: Path
) -> None:
    rendered = render(
        {
            "metrics": {
                "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
                "dashboard": {"enabled": True, "annotations": {"folder": "models"}},
            }
        }
    )

    assert conform(rendered.text) == ""
    rules = rendered.of_kind("PrometheusRule")
    assert rules["metadata"]["labels"]["release"] == "prometheus"
    alerts = yaml.safe_load((root / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))
    assert rules["spec"] == alerts
    dashboard = rendered.of_kind("ConfigMap", "-dashboard")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert dashboard["metadata"]["annotations"] == {"folder": "models"}
    source = json.loads((root / "deploy/grafana/onnxplain.json").read_text(encoding="utf-8"))
    assert json.loads(dashboard["data"]["onnxplain.json"]) == source


def test_keda_scales_within_the_limits_of_the_autoscaler(render: Render, definitions) -> None:
    triggers = [{"type": "cpu", "metadata": {"value": "50"}}]
    keda = {"enabled": True, "triggers": triggers, "pollingInterval": 15}

    rendered = render({"autoscaling": {"maxReplicas": 7, "keda": keda}})

    scaled = rendered.of_kind("ScaledObject")
    jsonschema.validate(scaled, definitions["ScaledObject"])
    assert scaled["apiVersion"] == "keda.sh/v1alpha1"
    spec = scaled["spec"]
    assert spec["pollingInterval"] == 15
    assert spec["scaleTargetRef"] == {"name": "release-onnxplain"}
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 7)
    assert spec["triggers"] == triggers
    assert "replicas" not in rendered.of_kind("Deployment")["spec"]


def test_fields_of_services_are_passed_on(render: Render, conform: Callable[[str], str]) -> None:
    extra = {"loadBalancerClass": "internal", "externalTrafficPolicy": "Local"}
    rest = {"type": "LoadBalancer", "extraSpec": extra}

    rendered = render({"service": {"rest": rest}, "minReadySeconds": 3})

    assert conform(rendered.text) == ""
    assert rendered.of_kind("Service", "release-onnxplain")["spec"].items() >= extra.items()
    assert rendered.of_kind("Deployment")["spec"]["minReadySeconds"] == 3
