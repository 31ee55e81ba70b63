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


@pytest.mark.parametrize("component", ["scheduler", "worker"])
def test_dask_knows_every_variable(pods, component) -> None:
    dask = pytest.importorskip("dask", reason="needs the extra dask")
    pytest.importorskip("distributed")  # its defaults
    (container,) = pods[component]["spec"]["containers"]
    variables = {each["name"]: each["value"] for each in container["env"]}
    listed = variables.pop("DASK_ONNXPLAIN__SOURCES_FILE", "")

    given = dask.config.collect_env(variables)
    told = {
        name: dask.config.get(name, config=given, default=None)
        for name in ("distributed.worker.profile.enabled", "distributed.admin.tick.interval")
    }

    assert told == {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
    }
    assert all(dask.config.get(name) is not None for name in told)
    assert len(variables) == len(told)
    assert bool(listed) == (component == "worker")


def test_a_worker_mounts_its_list(pods) -> None:
    (container,) = pods["worker"]["spec"]["containers"]
    variables = {each["name"]: each["value"] for each in container["env"]}
    folders = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    (secret,) = [each for each in pods["worker"]["spec"]["volumes"] if "secret" in each]

    assert variables["DASK_ONNXPLAIN__SOURCES_FILE"] == f"{folders[secret['name']]}/sources.toml"


@pytest.mark.parametrize("component", ["scheduler", "worker"])
def test_pods_are_the_charts_image_and_may_no_more_than_its_pods(pods, component) -> None:
    chart = FOLDER.parent / "helm/onnxplain"
    values = yaml.safe_load((chart / "values.yaml").read_text())
    version = yaml.safe_load((chart / "Chart.yaml").read_text())["appVersion"]
    pod = pods[component]["spec"]
    (container,) = pod["containers"]

    assert container["image"] == f"{values['image']['repository']}:{version}-sources"
    assert pod["securityContext"] == values["podSecurityContext"]
    assert container["securityContext"] == values["securityContext"]
    assert pod["automountServiceAccountToken"] is False


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
    stores = policies.pop("sources")
    assert stores["podSelector"]["matchLabels"] == pods["worker"]["metadata"]["labels"]
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
