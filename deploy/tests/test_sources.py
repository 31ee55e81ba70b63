"""The list of sources in the chart: the file that the server reads, its secrets, and the egress."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.adapters.sources.source_list import SourceList, read_source_list

Render = Callable[[Any], Any]
Destinations = Callable[[Any, str], set[int]]

MOUNTED = "/etc/onnxplain/secrets"
SERVICES = {"endpoint": "http://minio.storage.svc:9000", "networks": ["10.96.0.0/12"]}
PODS = [{"podSelector": {"matchLabels": {"app": "minio"}}}]
PUBLIC, PRIVATE = "52.95.110.1", "10.1.2.3"


def loaded(chart: Any, folder: Path) -> SourceList:
    """Read the list by the server's own loader, with its secrets in a folder."""
    text = chart.of_kind("ConfigMap", "-sources")["data"]["sources.toml"]
    for secret in chart.server["volumes"]:
        if "secret" in secret and secret["name"].startswith("list-secret"):
            (folder / secret["secret"]["secretName"]).mkdir()
    for line in text.splitlines():
        key, _, value = line.partition(" = ")
        if key.endswith("_file"):
            (folder / Path(value.strip('"')).relative_to(MOUNTED)).touch()
    path = folder / "sources.toml"
    path.write_text(text.replace(MOUNTED, str(folder)))
    return read_source_list(path)


def test_the_server_reads_the_list(render: Render, examples: Any, tmp_path: Path) -> None:
    chart = render(examples["sources"])
    entries = loaded(chart, tmp_path).entries

    assert [str(entry.prefix) for entry in entries] == [
        *("s3://models/churn/", "s3://lake/rows/", "models:/", "s3://results/onnxplain/")
    ]
    first, lake, registry, results = entries
    assert (first.identity, first.region) == ("platform", "eu-central-1")
    assert lake.address == (True, "minio.storage.svc", 443)
    assert lake.networks == (ipaddress.ip_network("10.96.0.0/12"),)
    assert registry.byte_limit == 67_108_864
    assert [entry.is_writable for entry in entries] == [False, False, False, True]
    assert results.credentials_file == ""


def test_each_secret_has_a_folder_of_its_own(render: Render, examples: Any) -> None:
    chart = render(examples["sources"])
    volumes = {
        one["name"]: one.get("secret", {}).get("secretName") for one in chart.server["volumes"]
    }
    mounts = {
        one["mountPath"]: volumes[one["name"]]
        for one in chart.container["volumeMounts"]
        if one["mountPath"].startswith(MOUNTED)
    }

    assert mounts == {
        f"{MOUNTED}/{name}": name for name in ("lake-reader", "internal-ca", "mlflow-reader")
    }


def test_the_second_image_is_the_default_where_there_is_a_list(render: Render) -> None:
    listed = {"sources": {"prefixes": [{"prefix": "s3://models/"}]}}

    assert render(listed).container["image"] == f"{render({}).container['image']}-sources"
    assert render(listed | {"image": {"tag": "2"}}).container["image"] == "onnxplain:2"


def test_pods_are_replaced_when_the_list_changes(render: Render) -> None:
    def checksum(prefix: str) -> str:
        pods = render({"sources": {"prefixes": [{"prefix": prefix}]}}).of_kind("Deployment")
        return str(pods["spec"]["template"]["metadata"]["annotations"]["checksum/sources"])

    assert checksum("s3://a/") != checksum("s3://b/")
    assert checksum("s3://a/") == checksum("s3://a/")


@pytest.mark.parametrize(
    ("source", "ports"),
    [
        ({"prefix": "s3://models/"}, {PUBLIC: {443}, PRIVATE: set()}),
        ({"prefix": "gs://models/"}, {PUBLIC: {443}, "fd00::1": set(), "2600:1f60::1": {443}}),
        (
            {"prefix": "https://models.example:8443/a/"},
            {PUBLIC: {8443}, "192.168.1.1": set(), "169.254.169.254": set()},
        ),
        (
            {
                "prefix": "s3://models/",
                "endpoint": "https://minio.example:9000",
                "networks": ["10.1.0.0/16"],
            },
            {PUBLIC: set(), PRIVATE: {9000}, "10.2.0.1": set()},
        ),
        (
            {"prefix": "s3://models/", "endpoint": "http://10.1.2.3"},
            {PUBLIC: set(), PRIVATE: {80}, "10.1.2.4": set()},
        ),
        (
            {"prefix": "s3://models/", "identity": "platform"},
            {PUBLIC: {443}, "169.254.169.254": {80}, "169.254.169.252": {988}, PRIVATE: set()},
        ),
        (
            {"prefix": "models:/", "endpoint": "https://mlflow.example/base"},
            {PUBLIC: {443}, PRIVATE: set()},
        ),
    ],
)
def test_pods_reach_the_endpoints_and_nothing_else(
    render: Render, destinations: Destinations, source, ports
) -> None:
    chart = render({"sources": {"prefixes": [source]}})

    assert {address: destinations(chart, address) for address in ports} == ports


def test_a_service_is_reached_by_its_pods(render: Render) -> None:
    source = {"prefix": "s3://models/", **SERVICES, "to": PODS, "port": 9001}
    policy = render({"sources": {"prefixes": [source]}}).of_kind("NetworkPolicy", "-onnxplain")

    assert policy["spec"]["egress"][1:] == [
        {"ports": [{"port": 9001, "protocol": "TCP"}], "to": PODS}
    ]


def test_a_list_of_ones_own_is_mounted_with_its_secrets(render: Render) -> None:
    egress = [{"ports": [{"port": 9000}], "to": PODS}]
    own = {"existingConfigMap": "lists", "key": "a.toml", "secrets": ["keys"], "egress": egress}
    chart = render({"sources": own})

    assert chart.environment["ONNXPLAIN_SOURCES_FILE"] == "/etc/onnxplain/sources/a.toml"
    volumes = {one["name"]: one for one in chart.server["volumes"]}
    assert volumes["sources"]["configMap"]["name"] == "lists"
    assert volumes["list-secret-0"]["secret"]["secretName"] == "keys"
    assert chart.of_kind("NetworkPolicy", "release-onnxplain")["spec"]["egress"][1:] == egress
    assert not [
        one for one in chart.all_of("ConfigMap") if one["metadata"]["name"].endswith("-sources")
    ]


def test_without_a_list_there_is_no_trace_of_it(render: Render, destinations: Destinations) -> None:
    chart = render({})

    assert "ONNXPLAIN_SOURCES_FILE" not in chart.environment
    assert not [one for one in chart.server["volumes"] if one["name"].startswith("source")]
    assert destinations(chart, PUBLIC) == set()


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({"prefixes": [{"endpoint": "https://a.example"}]}, "prefix"),
        ({"prefixes": [{"prefix": "file:///etc/"}]}, "prefix"),
        ({"prefixes": [{"prefix": "s3://a/", "secret": "s"}]}, "secret"),
        ({"prefixes": [{"prefix": "s3://a/", "credentials": {"secret": "s"}}]}, "key"),
        ({"prefixes": [{"prefix": "s3://a/", "networks": ["10.0.0.1"]}]}, "networks"),
        ({"prefixes": [{"prefix": "s3://a/", "max_bytes": "1GiB"}]}, "max_bytes"),
        (
            {
                "prefixes": [
                    {
                        "prefix": "s3://a/",
                        "identity": "platform",
                        "credentials": {"secret": "s", "key": "k"},
                    }
                ]
            },
            "sources",
        ),
        ({"prefixes": [{"prefix": "models:/"}]}, "needs the endpoint of the MLflow server"),
        (
            {"prefixes": [{"prefix": "https://a.example/", "endpoint": "https://b.example"}]},
            "is its own endpoint",
        ),
        (
            {"prefixes": [{"prefix": "s3://a/", "endpoint": "http://minio.storage.svc:9000"}]},
            "give networks",
        ),
        ({"prefixes": [{"prefix": "s3://a/", **SERVICES}]}, "give to"),
        (
            {"prefixes": [{"prefix": "s3://a/"}], "existingConfigMap": "lists"},
            "would both be the list",
        ),
        ({"existingConfigMap": "lists"}, "needs sources.egress"),
        ({"secrets": ["keys"]}, "belong to sources.existingConfigMap"),
    ],
)
def test_an_incomplete_list_is_refused(refusal: Callable[[Any], str], sources, said: str) -> None:
    assert said in refusal({"sources": sources})
