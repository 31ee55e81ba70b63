"""The manifests of an explainer in KServe: by its definition, and by the command's own."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from onnxplain_server.adapters.remote_server.remote_list import read_remote_list
from onnxplain_server.cli.commands import command
from onnxplain_server.cli.requests import setting_flags
from onnxplain_server.config.loading import load
from onnxplain_server.config.settings import Settings

DEFINITION = Path(__file__).parent / "kserve" / "inferenceservices.yaml.gz"
FORMS = ["model", "predictor"]

Manifests = Callable[[str], tuple[list[Any], Any]]


@pytest.fixture(scope="session")
def definition() -> jsonschema.protocols.Validator:
    """The definition as JSON schema, in which fields that it does not name are faults."""
    with gzip.open(DEFINITION) as file:
        resource = yaml.load(file, yaml.CSafeLoader)
    (version,) = resource["spec"]["versions"]
    schema = closed(version["schema"]["openAPIV3Schema"])
    return jsonschema.validators.validator_for(schema)(schema)


def closed(value: Any) -> Any:
    """Refuse unknown fields, which the API server would drop; those of metadata are its own."""
    if isinstance(value, list):
        return [closed(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: closed(item) for key, item in value.items() if key != "format"}
    is_object = made.get("type") == "object" and made.get("properties")
    if is_object and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


@pytest.fixture(scope="session")
def manifests(root: Path) -> Manifests:
    """Read a file: its other objects, and its InferenceService."""

    def read(form: str) -> tuple[list[Any], Any]:
        text = (root / "deploy" / "kserve" / f"{form}.yaml").read_text(encoding="utf-8")
        *others, service = yaml.safe_load_all(text)
        return others, service

    return read


def settings_of(service: Any) -> Settings:
    """Load the settings of the explainer, with the arguments that KServe's controller appends."""
    (container,) = service["spec"]["explainer"]["containers"]
    name, *args = container["args"]
    assert name == "explainer"
    appended = ["--model_name", service["metadata"]["name"]]
    appended += ["--predictor_host", f"{service['metadata']['name']}-predictor.models"]
    appended += ["--http_port", "8080"]
    parsed = command(name).make_context(name, [*args, *appended])
    return load(setting_flags.given(parsed.params))


@pytest.mark.parametrize("form", FORMS)
def test_kserve_knows_every_field(manifests: Manifests, definition, form: str) -> None:
    others, service = manifests(form)

    definition.validate(service)
    for other in others:
        kubernetes_validate.validate(other, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("fault", ["explainers", "predictor"])
def test_the_definition_finds_faults(manifests: Manifests, definition, fault: str) -> None:
    _, service = manifests("model")
    spec = {k: v for k, v in service["spec"].items() if k != fault}
    if fault == "explainers":
        spec[fault] = spec["explainer"]

    with pytest.raises(jsonschema.ValidationError):
        definition.validate({**service, "spec": spec})


def test_a_model_by_its_uri_is_what_the_explainer_reads(manifests: Manifests) -> None:
    _, service = manifests("model")
    settings = settings_of(service)

    assert (settings.explainer_name, settings.rest_port) == ("miami", 8080)
    mounted = [uri["mountPath"] for uri in service["spec"]["explainer"]["storageUris"]]
    files = [settings.explainer_model, settings.explainer_background]
    assert [str(Path(str(file)).parent) for file in files] == mounted


def test_a_predictor_is_listed_and_asked(manifests: Manifests, tmp_path: Path) -> None:
    (config,), service = manifests("predictor")
    settings = settings_of(service)
    path = tmp_path / "remote-models.toml"
    path.write_text(config["data"][Path(str(settings.remote_models_file)).name], encoding="utf-8")

    assert settings.explainer_model is None
    host = settings.explainer_predictor_host
    uri, entry = read_remote_list(path).find(f"http://{host}", "heart")
    assert host == "heart-predictor.models"
    assert uri.startswith(f"http://{host}")
    assert entry.calls_per_second == 20


@pytest.mark.parametrize("form", FORMS)
def test_probes_ask_routes_that_the_port_has(manifests: Manifests, form: str) -> None:
    _, service = manifests(form)
    (container,) = service["spec"]["explainer"]["containers"]

    for kind, path in (("readinessProbe", "ready"), ("livenessProbe", "live")):
        asked = container[kind]["httpGet"]
        assert asked == {"path": f"/v2/health/{path}", "port": settings_of(service).rest_port}


def test_the_page_shows_the_manifests(root: Path) -> None:
    page = (root / "docs/platforms/kserve.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    files = [root / "deploy" / "kserve" / f"{form}.yaml" for form in FORMS]
    assert shown == [file.read_text(encoding="utf-8") for file in files]
