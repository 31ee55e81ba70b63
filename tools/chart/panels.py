"""Panels of the dashboard that are written from a table, panels.toml.

They stand behind those that were laid out by hand. A metric that is on no panel fails
tests/deploy/test_panels.py: add it to the table.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

_FIRST_ID = 1000
"""Ids of panels of this table begin here."""
_WIDTH, _HEIGHT = 6, 8
_COLUMNS = 24 // _WIDTH
_TABLE = Path(__file__).with_name("panels.toml")
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def with_panels(dashboard: dict[str, Any]) -> dict[str, Any]:
    """Return a dashboard with the panels of the table in place of those that it has of it."""
    panels = [panel for panel in dashboard["panels"] if panel["id"] < _FIRST_ID]
    y = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    number = _FIRST_ID
    for row in tomllib.loads(_TABLE.read_text(encoding="utf-8"))["rows"]:
        head = {"id": number, "type": "row", "title": row["title"], "collapsed": False}
        panels.append({**head, "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}, "panels": []})
        y, number = y + 1, number + 1
        for index, panel in enumerate(row["panels"]):
            at = {"x": index % _COLUMNS * _WIDTH, "y": y + index // _COLUMNS * _HEIGHT}
            panels.append(_panel(panel, number, {"h": _HEIGHT, "w": _WIDTH, **at}))
            number += 1
        y += -(-len(row["panels"]) // _COLUMNS) * _HEIGHT
    return {**dashboard, "panels": panels}


def write(path: Path) -> None:
    """Write the panels of the table into the file of a dashboard."""
    dashboard = with_panels(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(dashboard, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _panel(panel: dict[str, Any], number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel["title"],
        "description": panel["description"],
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": re.sub(r"(?<=\w){}", '{job=~"$job", instance=~"$instance"}', expression),
                "legendFormat": legend,
            }
            for index, (legend, expression) in enumerate(panel["queries"].items())
        ],
        "fieldConfig": {"defaults": {"unit": panel["unit"], "min": 0}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi"},
        },
    }
