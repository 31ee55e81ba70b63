"""Manifests of a Dask cluster: Kubernetes and Dask take them, and their parts find each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "deploy/dask"


@pytest.fixture
def documents() -> list[dict[str, Any]]:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(
        path.name for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml"
    )
    return [each for name in listed for each in yaml.safe_load_all((FOLDER / name).read_text())]


@pytest.fixture
def pods(documents) -> dict[str, Any]:
    """Pods by their component."""
    found = [each["spec"]["template"] for each in documents if each["kind"] == "Deployment"]
    return {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in found}


@pytest.mark.parametrize("version", ["1.30", kubernetes_validate.latest_version()])
def test_kubernetes_knows_every_field(documents, version) -> None:
    for document in documents:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("component", ["scheduler", "worker"])
def test_dask_knows_every_argument(pods, component) -> None:
    module = pytest.importorskip(f"distributed.cli.dask_{component}", reason="needs the extra dask")
    (container,) = pods[component]["spec"]["containers"]

    context = module.main.make_context(component, list(container["args"]))

    assert container["command"] == ["dask", component]
    port = context.params["port" if component == "scheduler" else "worker_port"]
    assert int(port) == container["ports"][0]["containerPort"]


def test_workers_find_the_scheduler(documents, pods) -> None:
    (service,) = [each for each in documents if each["kind"] == "Service"]
    (port,) = service["spec"]["ports"]
    address = pods["worker"]["spec"]["containers"][0]["args"][0]

    assert service["spec"]["selector"] == pods["scheduler"]["metadata"]["labels"]
    assert address == f"tcp://{service['metadata']['name']}:{port['port']}"


def test_only_workers_and_named_clients_reach_the_scheduler(documents, pods) -> None:
    policies = {
        each["metadata"]["name"].rpartition("-")[2]: each["spec"]
        for each in documents
        if each["kind"] == "NetworkPolicy"
    }
    for component, policy in policies.items():
        assert policy["podSelector"]["matchLabels"] == pods[component]["metadata"]["labels"]
        assert all(rule["from"] for rule in policy["ingress"])
    callers = [
        each["podSelector"]["matchLabels"] for each in policies["scheduler"]["ingress"][0]["from"]
    ]
    assert callers == [pods["worker"]["metadata"]["labels"], {"onnxplain-dask-client": "true"}]


def test_a_worker_has_room_beside_its_tasks(pods) -> None:
    """For Dask itself, and for the process that confined ones are forked from."""
    (container,) = pods["worker"]["spec"]["containers"]
    (limit,) = [arg for arg in container["args"] if arg.startswith("--memory-limit=")]

    assert limit == "--memory-limit=1500MiB"
    assert container["resources"]["limits"]["memory"] == "2Gi"
