"""Panels of the dashboard: each metric is on one, and those of the table are in the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.chart.panels import with_panels
from tools.reference import metrics

FILE = Path(__file__).parents[2] / "deploy" / "grafana" / "onnxplain.json"
METRICS = re.findall(r"^\| `(\w+)` \|", metrics(), re.MULTILINE)


@pytest.mark.parametrize("name", METRICS)
def test_each_metric_is_on_a_panel(name: str) -> None:
    """Add one to tools/chart/panels.toml, then `make chart-files`."""
    panels = json.loads(FILE.read_text(encoding="utf-8"))["panels"]
    asked = " ".join(each["expr"] for panel in panels for each in panel.get("targets", ()))

    assert re.search(rf"\b{name}(_bucket|_sum|_count)?{{", asked)


def test_the_dashboard_has_the_panels_of_the_table() -> None:
    dashboard = json.loads(FILE.read_text(encoding="utf-8"))

    assert with_panels(dashboard) == dashboard
