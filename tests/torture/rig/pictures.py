"""Pictures of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert
from rig.checker import History

_BLUE, _ORANGE, _GREY, _GREEN = "#4c78a8", "#f58518", "#bab0ac", "#54a24b"
_BUCKET_SECONDS = 10.0
_WIDTH = 720
_MIB = 2**20
_QUANTILES = {"half of the calls": 0.5, "95 %": 0.95, "slowest": 1.0}


def draw(found: History, folder: Path) -> list[Path]:
    """Draw latency and memory over time; return the files."""
    made = {"torture-load.png": load(found), "torture-memory.png": memory(found)}
    for name, spec in made.items():
        picture = vl_convert.vegalite_to_png(json.dumps(spec), vl_version="6.4", scale=1.5)
        (folder / name).write_bytes(picture)
    return [folder / name for name in made]


def load(found: History) -> dict[str, Any]:
    """Seconds of calls that had to be answered, above the faults."""
    minutes = {"field": "minute", "type": "quantitative", "axis": {"title": None, "grid": False}}
    calls = {
        "width": _WIDTH,
        "height": 180,
        "data": {"values": _quantiles(found)},
        "mark": {"type": "line", "strokeWidth": 1.2},
        "encoding": {
            "x": minutes,
            "y": {
                "field": "seconds",
                "type": "quantitative",
                "scale": {"type": "log"},
                "axis": {"values": [0.01, 0.1, 1, 10, 100], "format": "~g"},
                "title": "seconds per call",
            },
            "color": {
                "field": "quantile",
                "scale": {"domain": list(_QUANTILES), "range": [_BLUE, _GREEN, _GREY]},
                "title": None,
            },
        },
    }
    below = {
        "width": _WIDTH,
        "height": {"step": 11},
        "data": {"values": _faults(found)},
        "mark": {"type": "bar", "color": _ORANGE, "height": 8},
        "encoding": {
            "x": minutes | {"axis": {"title": "minutes", "grid": False}},
            "x2": {"field": "end"},
            "y": {"field": "kind", "type": "nominal", "title": None, "sort": "ascending"},
        },
    }
    return _page({"vconcat": [calls, below], "resolve": {"scale": {"x": "shared"}}})


def memory(found: History) -> dict[str, Any]:
    """Memory of the replica that lives through the run, of its workers, and of Redis."""
    steady = found.run.steady
    wanted = {
        f"server-{steady}-1": ("resident_bytes", "server"),
        f"workers-{steady}-1": ("own_bytes", "its workers"),
    }
    points: list[dict[str, Any]] = []
    for each in found.samples:
        life = "redis" if each.life.startswith("redis-") else each.life
        key, name = wanted.get(life, ("used_bytes", "Redis"))
        if (life in wanted or life == "redis") and key in each.values:
            minute = (each.time - found.run.start) / 60
            points.append({"minute": minute, "of": name, "MiB": each.values[key] / _MIB})
    points = [point for point in points if point["minute"] >= 0]
    names = ["server", "its workers", "Redis"]
    colour = {"domain": names, "range": [_BLUE, _ORANGE, _GREEN]}
    return _page(
        {
            "width": _WIDTH,
            "height": 200,
            "data": {"values": points},
            "mark": {"type": "line", "strokeWidth": 1.2},
            "encoding": {
                "x": {"field": "minute", "type": "quantitative", "title": "minutes"},
                "y": {"field": "MiB", "type": "quantitative", "title": "MiB"},
                "color": {"field": "of", "scale": colour, "title": None},
            },
        }
    )


def _quantiles(found: History) -> list[dict[str, Any]]:
    """How long calls took, by the minute in which they ended."""
    return [
        {"minute": (k + 0.5) * _BUCKET_SECONDS / 60, "quantile": name, "seconds": value}
        for k, took in sorted(_buckets(found).items())
        for name, value in zip(
            _QUANTILES, np.quantile(took, list(_QUANTILES.values())), strict=True
        )
    ]


def _faults(found: History) -> list[dict[str, Any]]:
    """From when to when, in minutes, which fault; at least a second long, to be seen."""
    start = found.run.start
    return [
        {
            "minute": (fault.start - start) / 60,
            "end": (max(fault.end, fault.start + 1) - start) / 60,
            "kind": fault.kind,
        }
        for fault in found.faults
    ]


def _buckets(found: History) -> dict[int, list[float]]:
    """Seconds of answered calls by when they ended."""
    buckets: dict[int, list[float]] = {}
    for call in found.whole:
        if call.outcome == "answer" and call.end >= found.run.start:
            place = int((call.end - found.run.start) // _BUCKET_SECONDS)
            buckets.setdefault(place, []).append(call.end - call.start)
    return buckets


def _page(spec: dict[str, Any]) -> dict[str, Any]:
    config = {"legend": {"orient": "top"}, "view": {"stroke": None}}
    return {"background": "white", "config": config, **spec}
