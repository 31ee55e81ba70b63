"""Values of the chart: objects that fit together, and a service that starts with its settings."""

from __future__ import annotations

import base64
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server import cli
from onnxplain_server.config.loading import load
from onnxplain_server.config.redis_settings import signing_secret
from onnxplain_server.config.settings import Settings
from typer.testing import CliRunner

# After its grace, the server ends within this time.
LAST_SECONDS = 3

SECRETS = {
    "ONNXPLAIN_REDIS_URL": "redis://redis:6379/0",
    "ONNXPLAIN_CACHE_SECRET": "of-32-letters-as-openssl-would-do",
}

# Null takes the chart's default away, and the service's holds.
SIZES = (
    *("running_count", "extra_count"),
    *("worker_bytes", "warm_bytes", "cache_bytes", "upload_bytes"),
)

UNITS = {"Mi": 2**20, "Gi": 2**30}

Render = Callable[[Any], Any]


@pytest.fixture
def settings(chart, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a server that starts as the chart says."""
    for name, value in chart.environment.items():
        if name.startswith("ONNXPLAIN_"):
            monkeypatch.setenv(name, SECRETS[name] if value is None else value)
    return load({})


def size(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", text).groups()  # type: ignore[union-attr] # else fails
    return int(number) * UNITS[unit]


def test_the_service_takes_all_settings(chart, settings: Settings) -> None:
    given = {name for name in chart.environment if name.startswith("ONNXPLAIN_")}
    assert given == {f"ONNXPLAIN_{name.upper()}" for name in settings.model_fields_set}
    assert settings.redis_url is None or signing_secret(settings)


def test_memory_is_enough_for_the_settings(chart, settings: Settings) -> None:
    """The formula of docs/operations.md, "Workers"."""
    workers = (settings.running_count + settings.extra_count) * settings.worker_bytes
    kept = settings.warm_bytes + settings.cache_bytes + settings.upload_bytes
    assert size(chart.container["resources"]["limits"]["memory"]) >= workers + kept + 2**29


def test_no_call_is_cut_off_by_a_pod_that_ends(chart, settings: Settings) -> None:
    pause = chart.container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert settings.grace_seconds >= settings.max_seconds
    end = pause + settings.grace_seconds + LAST_SECONDS
    assert chart.server["terminationGracePeriodSeconds"] > end


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, 5 + 600 + 10),
        ({"settings": {"max_seconds": 90.5}}, 5 + 91 + 10),
        ({"settings": {"grace_seconds": 20}, "shutdown": {"delaySeconds": 15}}, 15 + 20 + 10),
        ({"settings": {"grace_seconds": 0, "max_seconds": 1}}, 5 + 0 + 10),
    ],
)
def test_the_time_to_end_follows_from_the_settings(render: Render, values, expected: int) -> None:
    assert render(values).server["terminationGracePeriodSeconds"] == expected


@pytest.mark.parametrize(
    ("settings", "mebibytes"),
    [
        ({}, 3 * 512 + 256 + 128 + 128 + 512),
        ({"running_count": 8, "extra_count": 0}, 8 * 512 + 256 + 128 + 128 + 512),
        ({"worker_bytes": "2GiB", "cache_bytes": 0}, 3 * 2048 + 256 + 128 + 512),
        ({"warm_bytes": 1, "upload_bytes": "1.5MiB"}, math.ceil(3 * 512 + 128 + 512 + 1.5 + 1e-6)),
        ({"worker_bytes": 10**9, "warm_bytes": "1 GB"}, math.ceil(4e9 / 2**20 + 128 + 128 + 512)),
        (dict.fromkeys(SIZES), 4 * 1024 + 1024 + 256 + 256 + 512),
    ],
)
def test_memory_follows_from_the_settings(render: Render, settings, mebibytes: int) -> None:
    resources = render({"settings": settings}).container["resources"]
    assert resources["limits"]["memory"] == f"{mebibytes}Mi"
    assert resources["requests"]["memory"] == f"{mebibytes}Mi"


@pytest.mark.parametrize("given", ["6Gi", "6144Mi", "6442450944", 6442450944, "6.5G", "1Ti"])
def test_memory_that_is_enough_is_taken_as_given(render: Render, given: object) -> None:
    resources = render({"resources": {"limits": {"memory": given}}}).container["resources"]
    assert resources["limits"]["memory"] == given


def test_requests_may_be_less_than_limits(render: Render) -> None:
    resources = {"requests": {"memory": "2Gi", "cpu": "500m"}}
    rendered = render({"resources": resources}).container["resources"]
    assert rendered["requests"] == {"memory": "2Gi", "cpu": "500m"}
    assert rendered["limits"] == {"memory": "2560Mi", "cpu": "2"}


@pytest.mark.parametrize("number", [67108864, 1234567890123])
def test_large_numbers_stay_what_they_are(render: Render, number: int) -> None:
    """Helm reads numbers as floats, and writes large ones as 1.234567890123e+12."""
    chosen = render({"settings": {"max_planned_rows": number, "max_model_bytes": number}})
    assert chosen.environment["ONNXPLAIN_MAX_PLANNED_ROWS"] == str(number)
    assert chosen.environment["ONNXPLAIN_MAX_MODEL_BYTES"] == str(number)


def test_every_object_is_found_by_its_labels(chart) -> None:
    labels = [pod["metadata"]["labels"] for pod in chart.pods()]
    for one in chart.objects:
        spec = one.get("spec") or {}
        selector = spec.get("selector") or spec.get("podSelector") or {}
        wanted = selector.get("matchLabels", selector)
        if one["kind"] == "ServiceMonitor":
            services = [service["metadata"]["labels"] for service in chart.all_of("Service")]
            assert sum(wanted.items() <= found.items() for found in services) == 1
        elif wanted:
            assert sum(wanted.items() <= found.items() for found in labels) == 1, one


def test_services_lead_to_ports_of_their_pods(chart) -> None:
    named = {
        port["name"]: port["containerPort"]
        for pod in chart.pods()
        for one in pod["spec"]["containers"]
        for port in one.get("ports", [])
    }
    defaults = load({})
    assert named["rest"] == defaults.rest_port
    assert named["grpc"] == defaults.grpc_port
    assert named["metrics"] == defaults.metrics_port
    for service in chart.all_of("Service"):
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= named.keys()


def test_routes_lead_to_ports_of_services(chart) -> None:
    ports = {
        (service["metadata"]["name"], port[key])
        for service in chart.all_of("Service")
        for port in service["spec"]["ports"]
        for key in ("name", "port")
    }
    for route in [*chart.all_of("HTTPRoute"), *chart.all_of("GRPCRoute")]:
        for rule in route["spec"]["rules"]:
            assert {(one["name"], one["port"]) for one in rule["backendRefs"]} <= ports
    for ingress in chart.all_of("Ingress"):
        for rule in ingress["spec"]["rules"]:
            backends = [path["backend"]["service"] for path in rule["http"]["paths"]]
            assert {(one["name"], one["port"]["name"]) for one in backends} <= ports


def test_pods_hold_no_token_and_take_no_variables_of_services(chart) -> None:
    for pod in chart.pods():
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["enableServiceLinks"] is False
    for account in chart.all_of("ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


def test_nothing_can_be_written_to_but_volumes(chart) -> None:
    for pod in chart.pods():
        for one in pod["spec"]["containers"]:
            assert one["securityContext"]["readOnlyRootFilesystem"] is True
        for volume in pod["spec"]["volumes"]:
            assert "sizeLimit" in volume.get("emptyDir", {"sizeLimit": ""})


def test_each_container_says_how_much_it_needs(chart) -> None:
    for pod in chart.pods():
        for one in pod["spec"]["containers"]:
            assert one["resources"]["requests"].keys() >= {"cpu", "memory"}
            assert "memory" in one["resources"]["limits"]


@pytest.mark.parametrize(
    ("values", "ports"),
    [
        ({}, {53}),
        ({"redis": {"existingSecret": "redis"}}, {53, 6379}),
        ({"redis": {"existingSecret": "redis", "port": 6380}}, {53, 6380}),
        ({"redis": {"existingSecret": "redis", "enabled": True}}, {53, 6379}),
        ({"settings": {"oidc_issuer": "https://a.example", "oidc_audience": "b"}}, {53, 443}),
        (
            {
                "settings": {
                    "oidc_issuer": "https://a.example:8443/realm",
                    "oidc_jwks_url": "https://b.example/keys",
                    "oidc_audience": "b",
                }
            },
            {53, 443, 8443},
        ),
    ],
)
def test_the_service_reaches_dns_redis_and_the_provider_only(
    render: Render, values, ports: set[int]
) -> None:
    spec = render(values).of_kind("NetworkPolicy", "release-onnxplain")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in spec["egress"] for port in rule["ports"]} == ports


def test_redis_is_reached_by_the_service_and_reaches_nobody(production) -> None:
    spec = production.of_kind("NetworkPolicy", "-redis")["spec"]
    ((source,),) = [rule["from"] for rule in spec["ingress"]]
    assert source["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "server"
    assert spec["egress"] == []
    assert spec["policyTypes"] == ["Ingress", "Egress"]


def test_ports_are_open_for_whom_the_values_name(production) -> None:
    spec = production.of_kind("NetworkPolicy", "release-onnxplain")["spec"]
    sources = {rule["ports"][0]["port"]: rule.get("from") for rule in spec["ingress"][:3]}
    assert {port: len(found) for port, found in sources.items()} == {
        "rest": 1,
        "grpc": 1,
        "metrics": 1,
    }


def test_pods_are_scaled_by_metrics_that_there_are(render: Render, root: Path) -> None:
    rendered = render({"autoscaling": {"enabled": True}})
    assert "replicas" not in rendered.of_kind("Deployment")["spec"]
    cpu, waiting = rendered.of_kind("HorizontalPodAutoscaler")["spec"]["metrics"]
    assert cpu["resource"]["name"] == "cpu"
    name = waiting["pods"]["metric"]["name"]
    assert f"`{name}`" in (root / "docs/metrics.md").read_text(encoding="utf-8")


def test_probes_speak_what_the_port_speaks(render: Render) -> None:
    """Those of gRPC know no TLS."""
    assert "grpc" in render({}).container["readinessProbe"]
    encrypted = render({"tls": {"existingSecret": "tls"}})
    assert encrypted.container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    (port,) = encrypted.of_kind("Service", "-grpc")["spec"]["ports"]
    assert port["appProtocol"] == "https"


def test_files_of_secrets_are_where_the_settings_say(chart) -> None:
    mounts = {one["mountPath"]: one["name"] for one in chart.container["volumeMounts"]}
    volumes = {one["name"] for one in chart.server["volumes"]}
    for name, value in chart.environment.items():
        if name.endswith("_FILE"):
            assert mounts[str(Path(str(value)).parent)] in volumes


def test_the_test_asks_what_the_command_can(chart) -> None:
    for pod in chart.all_of("Pod"):
        (one,) = pod["spec"]["containers"]
        words = [word.partition("=")[0] for word in one["args"]]
        told = CliRunner(env={"TERMINAL_WIDTH": "200"}).invoke(cli.app, [words[0], "--help"])
        assert told.exit_code == 0
        assert all(word in told.output for word in words if word.startswith("--"))
        (endpoint,) = [word for word in one["args"] if word.startswith("--endpoint=")]
        service = chart.of_kind("Service", "-grpc")
        (port,) = [port["port"] for port in service["spec"]["ports"]]
        assert endpoint == f"--endpoint={service['metadata']['name']}.models.svc:{port}"


def test_an_image_is_named_by_its_digest_where_there_is_one(render: Render) -> None:
    digest = f"sha256:{'a' * 64}"
    image = {"registry": "r.example:5000", "repository": "a/b", "tag": "2"}
    assert render({"image": image}).container["image"] == "r.example:5000/a/b:2"
    chosen = render({"image": image | {"digest": digest}})
    assert chosen.container["image"] == f"r.example:5000/a/b@{digest}"


def test_names_of_long_releases_stay_names(render: Render) -> None:
    rendered = render(
        {"fullnameOverride": "x" * 80, "redis": {"enabled": True, "existingSecret": "s"}}
    )
    assert max(len(one["metadata"]["name"]) for one in rendered.objects) <= 63


def test_a_cluster_that_chooses_users_by_itself_gets_none(render: Render) -> None:
    """As OpenShift does: null takes a default of the chart away."""
    context = {"runAsUser": None, "runAsGroup": None, "fsGroup": None}
    kept = render({"podSecurityContext": context}).server["securityContext"]
    assert kept == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_a_gateway_waits_for_the_longest_call(render: Render) -> None:
    gateway = {"parentRefs": [{"name": "one"}], "httpRoute": {"enabled": True}}
    route = render({"gateway": gateway, "settings": {"max_seconds": 90}}).of_kind("HTTPRoute")
    assert route["spec"]["rules"][0]["timeouts"] == {"request": "95s"}


def test_the_test_has_a_certificate_where_clients_need_one(render: Render) -> None:
    tls = {"existingSecret": "tls", "clientCa": {"existingSecret": "ca"}}
    assert not render({"tls": tls}).all_of("Pod")
    (one,) = render({"tls": tls, "tests": {"clientSecret": "client"}}).of_kind("Pod")["spec"][
        "containers"
    ]
    mounts = {mount["mountPath"] for mount in one["volumeMounts"]}
    files = [word.partition("=")[2] for word in one["args"] if "-file=" in word]
    assert {str(Path(file).parent) for file in files} == mounts - {
        "/tmp",  # noqa: S108 # its name
        "/etc/onnxplain/example",
    }


@pytest.mark.parametrize(
    ("values", "command"),
    [
        ({}, "explain"),
        ({"tokens": {"existingSecret": "tokens"}}, "health"),
        ({"settings": {"oidc_issuer": "https://a.example", "oidc_audience": "b"}}, "health"),
        (
            {"tokens": {"existingSecret": "tokens"}, "tests": {"tokenSecret": "token"}},
            "explain",
        ),
    ],
)
def test_the_test_explains_where_it_may(render: Render, values, command: str) -> None:
    rendered = render(values)
    (one,) = rendered.of_kind("Pod")["spec"]["containers"]
    explains = command == "explain"

    assert one["args"][0] == command
    assert ("--token-file=/etc/onnxplain/token/token" in one["args"]) is ("tests" in values)
    assert len(rendered.all_of("ConfigMap")) == explains


def test_the_test_s_files_are_a_model_and_its_table(render: Render, tmp_path: Path) -> None:
    files = render({}).of_kind("ConfigMap", "-test")
    (tmp_path / "model.onnx").write_bytes(base64.b64decode(files["binaryData"]["model.onnx"]))
    (tmp_path / "table.csv").write_text(files["data"]["table.csv"], encoding="utf-8")
    words = ["explain", str(tmp_path / "model.onnx"), str(tmp_path / "table.csv")]

    command = [sys.executable, "-m", "onnxplain_server", *words, "--method=partial_dependence"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "petal_length" in ran.stdout


def test_pods_have_the_fields_of_the_clusters_own_ways(render: Render) -> None:
    fields = {
        "schedulerName": "own",
        "runtimeClassName": "gvisor",
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["192.0.2.53"]},
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["models.example"]}],
    }
    redis = {"enabled": True, "existingSecret": "redis"}
    rendered = render({**fields, "redis": redis, "extraPodSpec": {"preemptionPolicy": "Never"}})

    pods = [pod["spec"] for pod in rendered.pods()]
    assert len(pods) == 3
    assert all(pod.items() >= fields.items() for pod in pods)
    assert [pod.get("preemptionPolicy") for pod in pods].count("Never") == 1
    assert rendered.server["preemptionPolicy"] == "Never"
