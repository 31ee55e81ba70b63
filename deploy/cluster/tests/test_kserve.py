"""KServe's published resource on a real API server takes the manifests of an explainer."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client, dynamic
from kubernetes.client.exceptions import ApiException
from releases import ROOT

from tools.waiting import until

pytestmark = pytest.mark.short
DEFINITION = ROOT / "tests/deploy/kserve/inferenceservices.yaml.gz"


@pytest.fixture(scope="module")
def services(cluster) -> Iterator[Any]:
    """The resource InferenceService, once its definition is established."""
    api = client.ApiextensionsV1Api(cluster.plane.api)
    with gzip.open(DEFINITION) as file:
        definition = yaml.load(file, yaml.CSafeLoader)
    name = definition["metadata"]["name"]
    api.create_custom_resource_definition(definition)

    def is_established() -> bool:
        status = api.read_custom_resource_definition(name).status
        conditions = (status.conditions if status else None) or []
        return any(c.type == "Established" and c.status == "True" for c in conditions)

    until(is_established)
    found = dynamic.DynamicClient(cluster.plane.api)
    yield found.resources.get(api_version="serving.kserve.io/v1beta1", kind="InferenceService")
    api.delete_custom_resource_definition(name)


def manifest(form: str) -> Any:
    text = (ROOT / "deploy" / "kserve" / f"{form}.yaml").read_text(encoding="utf-8")
    *_, service = yaml.safe_load_all(text)
    service["metadata"].pop("namespace", None)
    return service


@pytest.mark.parametrize("form", ["model", "predictor"])
def test_it_is_applied_as_it_is_written(services, namespace: str, form: str) -> None:
    written = manifest(form)

    for _ in range(2):
        applied = services.server_side_apply(
            written, namespace=namespace, field_manager="tests", query_params=[STRICT]
        )

    (container,) = applied.to_dict()["spec"]["explainer"]["containers"]
    (expected,) = written["spec"]["explainer"]["containers"]
    assert container["args"] == expected["args"]
    assert applied.metadata.generation == 1


STRICT = ("fieldValidation", "Strict")


def test_a_wrong_one_is_refused(services, namespace: str) -> None:
    """So that the test above would find a fault."""
    no_predictor, unknown = manifest("model"), manifest("model")
    del no_predictor["spec"]["predictor"]
    unknown["spec"]["explainer"]["storage_uris"] = []

    for wrong, words in ((no_predictor, "spec.predictor"), (unknown, "storage_uris")):
        with pytest.raises(ApiException) as refused:
            services.server_side_apply(
                wrong, namespace=namespace, field_manager="tests", query_params=[STRICT]
            )
        assert refused.value.status in {400, 422, 500}
        assert words in str(refused.value.body)
