"""The chart, rendered by the real helm."""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/onnxplain"
TOOLS = ROOT / "tools/kubernetes/bin"
EXAMPLES = {path.name.removesuffix("-values.yaml"): path for path in CHART.glob("ci/*.yaml")}


class Rendered:
    """Objects that the chart renders."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.objects: list[Any] = [one for one in yaml.safe_load_all(text) if one]

    def of_kind(self, kind: str, end: str = ""):
        """Return the only object of a kind whose name ends so."""
        (found,) = [one for one in self.all_of(kind) if one["metadata"]["name"].endswith(end)]
        return found

    def all_of(self, kind: str) -> list[Any]:
        return [one for one in self.objects if one["kind"] == kind]

    def pods(self) -> Iterator[Any]:
        """Yield all pods, with labels and specification."""
        for one in self.objects:
            if one["kind"] == "Pod":
                yield one
            elif one["kind"] == "CronJob":
                yield one["spec"]["jobTemplate"]["spec"]["template"]
            elif "template" in (one.get("spec") or {}):
                yield one["spec"]["template"]

    @property
    def server(self):
        """The pod of the service."""
        return self.of_kind("Deployment")["spec"]["template"]["spec"]

    @property
    def container(self):
        (only,) = self.server["containers"]
        return only

    @property
    def environment(self) -> dict[str, str | None]:
        """The variables of the service; those from Secrets are None."""
        return {one["name"]: one.get("value") for one in self.container["env"]}


def run_helm(*arguments: str | Path) -> str:
    """Return what helm prints; what it complains of is the error's `stderr`."""
    command = [TOOLS / "helm", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def values_of(example: str) -> list[str]:
    return [] if example == "default" else ["--values", str(EXAMPLES[example])]


@cache
def rendered(example: str) -> Rendered:
    namespace = ["--namespace", "models"]
    return Rendered(run_helm("template", "release", CHART, *namespace, *values_of(example)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of helm and conform."""
    return TOOLS


@pytest.fixture(scope="session")
def examples() -> dict[str, Any]:
    """The values of the files in ci/ by name."""
    return {name: yaml.safe_load(path.read_text()) for name, path in EXAMPLES.items()}


@pytest.fixture(params=["default", *sorted(EXAMPLES)])
def example(request: pytest.FixtureRequest) -> str:
    """The name of a file of values in ci/, and the default values."""
    return str(request.param)


@pytest.fixture
def chart(example: str) -> Rendered:
    """The chart, rendered with it."""
    return rendered(example)


@pytest.fixture
def production() -> Rendered:
    """The chart with the values that have most."""
    return rendered("production")


@pytest.fixture
def complaints(example: str) -> str:
    """What helm has to say of the chart with these values, in its strictest."""
    return run_helm("lint", "--strict", CHART, *values_of(example))


@pytest.fixture(scope="session")
def render(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mapping[str, Any]], Rendered]:
    """Render the chart with the values given."""
    file = tmp_path_factory.mktemp("values") / "values.yaml"

    def rendered_with(values: Mapping[str, Any]) -> Rendered:
        file.write_text(yaml.safe_dump(values), encoding="utf-8")
        return Rendered(run_helm("template", "release", CHART, "--values", file))

    return rendered_with


@pytest.fixture(scope="session")
def refusal(render: Callable[[Mapping[str, Any]], Rendered]) -> Callable[[Mapping[str, Any]], str]:
    """Tell how helm refuses the values given."""

    def refused(values: Mapping[str, Any]) -> str:
        with pytest.raises(subprocess.CalledProcessError) as caught:
            render(values)
        return str(caught.value.stderr)

    return refused


@pytest.fixture(scope="session")
def conform(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Tell the faults of manifests: for the published types, and for the restricted standard."""
    file = tmp_path_factory.mktemp("conform") / "manifests.yaml"

    def faults(text: str) -> str:
        file.write_text(text, encoding="utf-8")
        command = [TOOLS / "conform", file]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == (1 if result.stdout else 0), result.stderr
        return result.stdout

    return faults


@pytest.fixture(scope="session")
def definitions() -> dict[str, Any]:
    """The published schemas of routes and ScaledObjects, with every unknown field refused."""
    found = {}
    for file in TOOLS.glob("crds/*.yaml"):
        spec = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]
        (stored,) = [one for one in spec["versions"] if one["storage"]]
        schema = closed(stored["schema"]["openAPIV3Schema"])
        found[spec["names"]["kind"]] = {**schema, "additionalProperties": True}
    return found


def closed(schema):
    """Return a schema whose objects have the fields named, and no others."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    one = {key: closed(value) for key, value in schema.items()}
    names_fields = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    return {**one, "additionalProperties": False} if names_fields else one


@pytest.fixture
def destinations() -> Callable[[Any, str], set[int]]:
    """Return the ports on which the policy lets an address be reached, besides DNS."""
    return _destinations


def _destinations(chart: Any, address: str) -> set[int]:
    policy = chart.of_kind("NetworkPolicy", "release-onnxplain")["spec"]["egress"]
    found = set()
    for rule in policy:
        blocks = [one["ipBlock"] for one in rule.get("to", []) if "ipBlock" in one]
        if any(_holds(block, address) for block in blocks):
            found |= {port["port"] for port in rule["ports"]}
    return found


def _holds(block: Any, address: str) -> bool:
    ip = ipaddress.ip_address(address)
    networks = map(ipaddress.ip_network, block.get("except", []))
    return ip in ipaddress.ip_network(block["cidr"]) and not any(ip in one for one in networks)
