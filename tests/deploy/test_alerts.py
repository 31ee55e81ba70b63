"""Alerts: rules of Prometheus that fire on their trouble, with the labels of usual scrapes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
TARGET = 'job="onnxplain", instance="a"'

SCRAPES = {
    "static": TARGET,
    "annotations": (
        'job="kubernetes-pods", instance="10.0.0.1:8082", namespace="ml", pod="onnxplain-1"'
    ),
    "service-monitor": (
        'job="release-metrics", instance="10.0.0.1:8082", namespace="ml", pod="release-1", '
        'service="release-metrics", endpoint="metrics", container="onnxplain"'
    ),
}
"""Labels of a target by scrape configuration."""
ONCE = [pytest.param(name, marks=() if name == "static" else pytest.mark.slow) for name in SCRAPES]


@pytest.fixture(scope="module")
def promtool(program: Callable[[str], str]) -> str:
    return program("promtool")


def run(*command: str | Path) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ALERTS.parent)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def alerts() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]:
        yield from (rule for rule in group["rules"] if "alert" in rule)


def test_the_alerts_are_rules_of_prometheus(promtool: str) -> None:
    run(promtool, "check", "rules", ALERTS)


@pytest.mark.parametrize("scrape", ONCE)
def test_each_alert_fires_on_its_trouble_alone(promtool: str, tmp_path: Path, scrape: str) -> None:
    labels = dict(re.findall(r'(\w+)="(.*?)"', SCRAPES[scrape]))
    text = (ALERTS.parent / "alerts_test.yaml").read_text(encoding="utf-8")
    assert TARGET in text
    text = text.replace(TARGET, SCRAPES[scrape]).replace(f"[{ALERTS.name}]", f"[{ALERTS}]")
    of_jobs = ", ".join(
        f"{name}: {labels[name]}" for name in ("namespace", "job") if name in labels
    )
    text = text.replace("job: onnxplain }", f"{of_jobs} }}")
    text = text.replace("twenty of onnxplain", f"twenty of {labels['job']}")
    file = tmp_path / "alerts_test.yaml"
    file.write_text(text, encoding="utf-8")

    run(promtool, "test", "rules", file)


def test_every_alert_is_tried_loud_and_silent() -> None:
    text = (ALERTS.parent / "alerts_test.yaml").read_text(encoding="utf-8")
    tried = set(re.findall(r'alertname="(\w+)"', text)) | set(re.findall(r"alertname: (\w+)", text))

    assert tried == {rule["alert"] for rule in alerts()}


def test_every_alert_leads_to_what_it_means() -> None:
    text = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    names = [rule["alert"] for rule in alerts()]

    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == names
    links = [rule["annotations"]["runbook_url"].partition("#")[2] for rule in alerts()]
    assert links == [name.lower() for name in names]
