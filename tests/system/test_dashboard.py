"""Dashboard and alerts: a server under load shows each metric that they query."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import onnxplain
import pandas as pd
import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

DEPLOY = Path(__file__).parents[2] / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"

# Prometheus adds them to what it has read.
OF_PROMETHEUS = {"job": "onnxplain", "instance": "a", "namespace": "b"}

# Shown by servers with tokens, TLS, Redis, a cluster, remote models or listed callers only; or by a
# watch, whose metrics tests/cli/test_watch.py asks for.
OF_SETTINGS = (
    "onnxplain_last_reload_successful",
    "onnxplain_certificate_expiry_timestamp_seconds",
    "onnxplain_redis_up",
    "onnxplain_redis_failures_total",
    "onnxplain_cluster_",
    "onnxplain_remote_",
    "onnxplain_caller_",
    "onnxplain_watch_",
)

COUNTED_LAST = "http_server_request_duration_seconds_count"

METHODS: list[Any] = [
    onnxplain.Interactions(features=["x0", "x1"]),
    onnxplain.PartialDependence(features=["x0"]),
    onnxplain.IndividualConditionalExpectation(features=["x0"]),
    onnxplain.PermutationImportance(features=["x0"], repeat_count=1),
    onnxplain.AverageLoss(),
    onnxplain.Firm(features=["x0", "x1"]),
]
FOREST = DEPLOY.parent / "tests" / "models" / "sklearn_random_forest_3class.onnx"
FLOWERS = DEPLOY.parent / "tests" / "conformance" / "files" / "iris.csv"


@pytest.fixture(scope="module")
def promtool(program: Callable[[str], str]) -> str:
    return program("promtool")


@pytest.fixture(scope="module")
def dashboard():
    return json.loads((DEPLOY / "grafana" / "onnxplain.json").read_text(encoding="utf-8"))


@pytest.fixture
def page(lasting_server, network: bytes, rows: Mapping[str, Any]) -> Sequence[Metric]:
    """The metrics after every kind of event that a caller can bring about."""
    server = lasting_server
    few = {name: values[:60] for name, values in rows.items()}
    few["y"] = np.asarray(few["x0"]).tolist()
    names = [f"x{j}" for j in range(20)]
    with onnxplain.connect(server.endpoint) as client:
        for _ in range(2):
            client.explain(
                network, few, *METHODS, row_count=20, target_column="y", feature_columns=names
            )
        client.explain(network, few, METHODS[0], row_count=20, feature_columns=names)
        flowers = pd.read_csv(FLOWERS)
        inputs = list(flowers.columns[:4])
        of_trees: list[Any] = [onnxplain.FeatureVectors(), onnxplain.Swarm(iteration_count=2)]
        for method in of_trees:
            client.explain(
                FOREST.read_bytes(),
                flowers,
                method,
                row_count=10,
                target_column="species",
                feature_columns=inputs,
            )
        with pytest.raises(onnxplain.ExplainError):
            client.explain(b"no model", few, METHODS[0])
        client.describe(network)
    rest = HTTPConnection("127.0.0.1", server.rest_port, timeout=120)
    rest.request("POST", "/v1/explanations", b"{}", {"Content-Type": "application/json"})
    assert rest.getresponse().status == 400
    rest.close()
    for _ in range(1200):  # a request counts once its answer is sent
        read = metrics(server)
        if any(sample.name == COUNTED_LAST for family in read for sample in family.samples):
            return read
        time.sleep(0.1)
    raise AssertionError(f"{COUNTED_LAST} never appeared")


def metrics(server) -> Sequence[Metric]:
    """What a server shows Prometheus now."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=120) as reply:
        return list(text_string_to_metric_families(reply.read().decode()))


def expressions(dashboard) -> list[str]:
    """What the panels ask, as Grafana would send it."""
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    for variable, value in {"$__rate_interval": "5m", "$job": ".*", "$instance": ".*"}.items():
        asked = [text.replace(variable, value) for text in asked]
    return asked


def rules() -> list[str]:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def selectors(expression: str) -> list[tuple[str, dict[str, str]]]:
    """The metrics in an expression, with what is demanded of their labels as patterns."""
    bare = re.sub(r"\bby \(.*?\)", "", expression)
    found = re.findall(r"(?<![:\w])((?:onnxplain|grpc|http|process)_\w+)(?:{(.*?)})?", bare)
    return [
        (name, dict(re.findall(r'(\w+)=~?"(.*?)"', labels)))
        for name, labels in found
        if not name.startswith(OF_SETTINGS)
    ]


def grouped(expression: str) -> set[str]:
    """The labels by which an expression sums."""
    lists = re.findall(r"\bby \((.*?)\)", expression)
    return {label.strip() for labels in lists for label in labels.split(",")}


def test_whatever_they_ask_for_is_there_after_a_load_run(
    promtool: str, page: Sequence[Metric], dashboard, tmp_path: Path
) -> None:
    check_names(page, dashboard)
    check_panels(page, dashboard, promtool, tmp_path)


def check_names(page: Sequence[Metric], dashboard) -> None:
    """Metrics with such labels exist."""
    samples = [sample for family in page for sample in family.samples]
    for expression in [*expressions(dashboard), *rules()]:
        for name, demanded in selectors(expression):
            assert any(meets(sample, name, demanded) for sample in samples), (name, demanded)
            labels = {label for sample in samples if sample.name == name for label in sample.labels}
            assert grouped(expression) <= labels | OF_PROMETHEUS.keys(), expression


def meets(sample: Sample, name: str, demanded: Mapping[str, str]) -> bool:
    labels = {**sample.labels, **OF_PROMETHEUS}
    return sample.name == name and all(
        label in labels and re.fullmatch(pattern, labels[label])
        for label, pattern in demanded.items()
    )


def check_panels(page: Sequence[Metric], dashboard, promtool: str, folder: Path) -> None:
    """Each shows something, by Prometheus' own engine. Values grow, since rates are asked for."""
    series = [
        {"series": written(sample), "values": f"{sample.value:.0f}+1x60"}
        for family in page
        for sample in family.samples
    ]
    asked = [
        {"expr": f"count({text}) > bool 0", "eval_time": "30m", "exp_samples": [{"value": 1}]}
        for text in expressions(dashboard)
        if selectors(text)
    ]
    up = {"series": written(Sample("up", {}, 1)), "values": "1x60"}
    test = {"interval": "1m", "input_series": [*series, up], "promql_expr_test": asked}
    file = folder / "dashboard_test.yaml"
    file.write_text(json.dumps({"tests": [test]}), encoding="utf-8")

    ran = subprocess.run(
        [promtool, "test", "rules", file], capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


def written(sample: Sample) -> str:
    labels = {**sample.labels, **OF_PROMETHEUS}
    return f"{sample.name}{{{','.join(f'{k}={json.dumps(v)}' for k, v in labels.items())}}}"


def test_panels_lie_beside_each_other_and_have_units(dashboard) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["fieldConfig"]["defaults"]["unit"]
            assert panel["description"]
            assert panel["datasource"]["uid"] == "${datasource}"
