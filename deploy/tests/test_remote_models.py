"""The list of remote models in the chart: the file that the server reads, its secrets, egress."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.adapters.remote_server.remote_list import RemoteList, read_remote_list

Render = Callable[[Any], Any]
Destinations = Callable[[Any, str], set[int]]

MOUNTED = "/etc/onnxplain/secrets"
PODS = [{"podSelector": {"matchLabels": {"app": "mlserver"}}}]
PUBLIC, PRIVATE = "52.95.110.1", "10.1.2.3"


def loaded(chart: Any, folder: Path) -> RemoteList:
    """Read the list by the server's own loader, with its secrets in a folder."""
    text = chart.of_kind("ConfigMap", "-remote-models")["data"]["remote-models.toml"]
    for line in text.splitlines():
        key, _, value = line.partition(" = ")
        if key.endswith("_file"):
            secret = folder / Path(value.strip('"')).relative_to(MOUNTED)
            secret.parent.mkdir(exist_ok=True)
            secret.touch()
    path = folder / "remote-models.toml"
    path.write_text(text.replace(MOUNTED, str(folder)))
    return read_remote_list(path)


def listed(*prefixes: Any, **keys: Any) -> dict[str, Any]:
    return {"remoteModels": {"prefixes": list(prefixes), **keys}}


def test_the_server_reads_the_list(render: Render, examples: Any, tmp_path: Path) -> None:
    team, mlserver = loaded(render(examples["remote-models"]), tmp_path).entries

    assert str(team.prefix) == "https://models.example.com/team"
    assert (team.call_count, team.calls_per_second) == (8, 50.0)
    assert Path(team.credentials_file) == tmp_path / "model-token" / "token"
    assert Path(team.ca_file) == tmp_path / "internal-ca" / "ca.crt"
    assert (mlserver.prefix.scheme, mlserver.port) == ("grpc", 8081)
    assert (mlserver.row_limit, mlserver.timeout_seconds) == (10_000, 120.0)
    assert mlserver.networks == (ipaddress.ip_network("10.96.0.0/12"),)


def test_a_secret_of_both_lists_is_mounted_once(render: Render) -> None:
    secret = {"credentials": {"secret": "keys", "key": "k"}}
    sources = {"sources": {"prefixes": [{"prefix": "s3://models/", **secret}]}}
    chart = render({**sources, **listed({"prefix": "https://h.example", **secret})})

    mounts = [one["mountPath"] for one in chart.container["volumeMounts"]]
    assert mounts.count(f"{MOUNTED}/keys") == 1
    assert len(set(mounts)) == len(mounts)


def test_the_first_image_is_enough(render: Render) -> None:
    chart = render(listed({"prefix": "https://h.example"}))

    assert chart.container["image"] == render({}).container["image"]


def test_pods_are_replaced_when_the_list_changes(render: Render) -> None:
    def checksum(prefix: str) -> str:
        pods = render(listed({"prefix": prefix})).of_kind("Deployment")
        return str(pods["spec"]["template"]["metadata"]["annotations"]["checksum/remote-models"])

    assert checksum("https://a.example") != checksum("https://b.example")
    assert checksum("https://a.example") == checksum("https://a.example")


@pytest.mark.parametrize(
    ("remote", "ports"),
    [
        (
            {"prefix": "https://h.example/team"},
            {PUBLIC: {443}, PRIVATE: set(), "169.254.169.254": set()},
        ),
        ({"prefix": "http://h.example"}, {PUBLIC: {80}, PRIVATE: set(), "fd00::1": set()}),
        ({"prefix": "grpcs://h.example:8443"}, {PUBLIC: {8443}, "2600:1f60::1": {8443}}),
        (
            {"prefix": "http://h.example:8080/base", "networks": ["10.1.0.0/16"]},
            {PUBLIC: set(), PRIVATE: {8080}, "10.2.0.1": set()},
        ),
        ({"prefix": "grpc://10.1.2.3:81"}, {PUBLIC: set(), PRIVATE: {81}, "10.1.2.4": set()}),
    ],
)
def test_pods_reach_the_hosts_and_nothing_else(
    render: Render, destinations: Destinations, remote: Any, ports: Any
) -> None:
    chart = render(listed(remote))

    assert {address: destinations(chart, address) for address in ports} == ports


def test_a_service_is_reached_by_its_pods(render: Render) -> None:
    remote = {"prefix": "grpc://mlserver.ml.svc:8081", "networks": ["10.96.0.0/12"]}
    chart = render(listed({**remote, "to": PODS, "port": 9081}))

    assert chart.of_kind("NetworkPolicy", "-onnxplain")["spec"]["egress"][1:] == [
        {"ports": [{"port": 9081, "protocol": "TCP"}], "to": PODS}
    ]


def test_a_list_of_ones_own_is_mounted_with_its_secrets(render: Render) -> None:
    egress = [{"ports": [{"port": 9000}], "to": PODS}]
    own = {"existingConfigMap": "lists", "key": "a.toml", "secrets": ["keys"], "egress": egress}
    chart = render({"remoteModels": own})

    variable = chart.environment["ONNXPLAIN_REMOTE_MODELS_FILE"]
    volumes = {one["name"]: one for one in chart.server["volumes"]}
    assert variable == "/etc/onnxplain/remote-models/a.toml"
    assert volumes["remote-models"]["configMap"]["name"] == "lists"
    assert volumes["list-secret-0"]["secret"]["secretName"] == "keys"
    assert chart.of_kind("NetworkPolicy", "release-onnxplain")["spec"]["egress"][1:] == egress


def test_without_a_list_there_is_no_trace_of_it(render: Render, destinations: Destinations) -> None:
    chart = render({})

    assert "ONNXPLAIN_REMOTE_MODELS_FILE" not in chart.environment
    assert "remote-models" not in {one["name"] for one in chart.server["volumes"]}
    assert destinations(chart, PUBLIC) == set()


@pytest.mark.parametrize(
    ("remote", "said"),
    [
        ({"prefixes": [{"calls": 1}]}, "prefix"),
        ({"prefixes": [{"prefix": "s3://a/"}]}, "prefix"),
        ({"prefixes": [{"prefix": "https://u:p@h.example"}]}, "prefix"),
        ({"prefixes": [{"prefix": "grpc://h.example"}]}, "prefix"),
        ({"prefixes": [{"prefix": "https://h.example", "secret": "s"}]}, "secret"),
        ({"prefixes": [{"prefix": "https://h.example", "credentials": {"secret": "s"}}]}, "key"),
        ({"prefixes": [{"prefix": "https://h.example", "networks": ["10.0.0.1"]}]}, "networks"),
        ({"prefixes": [{"prefix": "https://h.example", "calls": 0}]}, "calls"),
        (
            {"prefixes": [{"prefix": "https://h.example", "calls_per_second": 0}]},
            "calls_per_second",
        ),
        ({"prefixes": [{"prefix": "https://h.example", "rows_per_call": 1.5}]}, "rows_per_call"),
        ({"prefixes": [{"prefix": "http://mlserver.ml.svc"}]}, "give networks"),
        (
            {"prefixes": [{"prefix": "http://mlserver.ml.svc", "networks": ["10.96.0.0/12"]}]},
            "give to",
        ),
        (
            {"prefixes": [{"prefix": "https://h.example"}], "existingConfigMap": "lists"},
            "would both be the list",
        ),
        ({"existingConfigMap": "lists"}, "needs remoteModels.egress"),
        ({"secrets": ["keys"]}, "belong to remoteModels.existingConfigMap"),
    ],
)
def test_an_incomplete_list_is_refused(
    refusal: Callable[[Any], str], remote: Any, said: str
) -> None:
    assert said in refusal({"remoteModels": remote})
