"""Numbers read off the SVG pictures of hstats' README, which ggplot2 drew.

python -m bench.seeds.pictures FOLDER

Keeps in published.json what it reads in FOLDER, a copy of man/figures of the repository of hstats:
lengths of bars, and points of curves. Positions have two decimals of a point: about four digits.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PUBLISHED = Path(__file__).parent / "published.json"
_LABEL = re.compile(
    r"<text x='([\d.]+)' y='([\d.]+)' text-anchor='(middle|end)'[^>]*fill: #4D4D4D[^>]*>([^<]+)<"
)
_LINE = re.compile(r"<polyline points='([^']+)' style='([^']*)'")
_BAR = re.compile(
    r"<rect x='([\d.]+)' y='([\d.]+)' width='([\d.]+)' height='([\d.]+)'[^>]*linejoin: miter"
)
BARS = {
    ("importance_perm", ""): (85.0, 440.0),
    ("dalex_hstats", "overall"): (60.0, 200.0),
    ("dalex_hstats", "pairwise"): (300.0, 460.0),
    ("multivariate", "overall"): (65.0, 170.0),
    ("multivariate", "pairwise"): (265.0, 370.0),
}
CURVES = {
    ("pdp_ocean_age", ""): (0.0, 1e9),
    ("pdp_2d_line", ""): (0.0, 1e9),
    ("ice", ""): (0.0, 1e9),
    ("dalex_ice", ""): (0.0, 1e9),
    ("multivariate_ice", "versicolor"): (147.0, 252.0),
}
_LABEL_DROP = 3.15  # of the base line of a label below its tick, at this size of letters


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers at positions of a picture: a straight line through its labels."""

    slope: float
    constant: float

    @classmethod
    def of(cls, positions: Sequence[float], numbers: Sequence[float]) -> Axis:
        slope, constant = np.polyfit(positions, numbers, 1)
        return cls(float(slope), float(constant))

    def at(self, position: float) -> float:
        return self.slope * position + self.constant


def bars(picture: str, left: float, right: float) -> dict[str, list[float]]:
    """Read the horizontal bars between two positions: label -> lengths, from the top."""
    labels = [(float(x), float(y), side, text) for x, y, side, text in _LABEL.findall(picture)]
    below = [
        (x, float(text)) for x, _, side, text in labels if side == "middle" and left <= x <= right
    ]
    names = [(y - _LABEL_DROP, x, text) for x, y, side, text in labels if side == "end"]
    axis = Axis.of(*zip(*below, strict=True))
    lengths: dict[str, list[float]] = {}
    found = [tuple(map(float, one)) for one in _BAR.findall(picture)]
    for x, y, width, height in sorted(found, key=lambda one: one[1]):
        if left <= x <= right:
            beside = max(edge for _, edge, _ in names if edge < x)
            middle = y + height / 2
            column = [one for one in names if one[1] == beside]
            name = min(column, key=lambda one: abs(one[0] - middle))[2]
            lengths.setdefault(name, []).append(axis.at(x + width) - axis.at(x))
    return lengths


def curves(picture: str, left: float, right: float) -> list[dict[str, list[float]]]:
    """Read lines of many points between two positions: each with `x` and `y`, in their order."""
    labels = [(float(x), float(y), side, text) for x, y, side, text in _LABEL.findall(picture)]
    ticks = [_points(points) for points, style in _LINE.findall(picture) if "#333333" in style]
    across = sorted({one[0][1] for one in ticks if one[0][1] == one[1][1]})
    below = [
        (x, float(text)) for x, _, side, text in labels if side == "middle" and left <= x <= right
    ]
    beside = [(_nearest(across, y), number) for y, number in _beside(labels)]
    horizontal, vertical = (Axis.of(*zip(*one, strict=True)) for one in (below, beside))
    lines = [_points(points) for points, _ in _LINE.findall(picture)]
    return [
        {"x": [horizontal.at(x) for x, _ in line], "y": [vertical.at(y) for _, y in line]}
        for line in lines
        if len(line) > 2 and left <= line[0][0] <= right
    ]


def _beside(labels: Sequence[tuple[float, float, str, str]]) -> list[tuple[float, float]]:
    return [(y - _LABEL_DROP, float(text)) for _, y, side, text in labels if side == "end"]


def _nearest(positions: Sequence[float], wanted: float) -> float:
    return min(positions, key=lambda position: abs(position - wanted))


def _points(text: str) -> list[tuple[float, float]]:
    pairs = [pair.split(",") for pair in text.split()]
    return [(float(x), float(y)) for x, y in pairs]


def main() -> None:
    folder = Path(sys.argv[1])
    lines = {
        f"{name} {panel}".strip(): curves((folder / f"{name}.svg").read_text("utf-8"), *edges)
        for (name, panel), edges in CURVES.items()
    }
    kept = {
        "bars": {
            f"{name} {panel}".strip(): {
                label: [float(f"{length:.4g}") for length in lengths]
                for label, lengths in bars(
                    (folder / f"{name}.svg").read_text("utf-8"), *edges
                ).items()
            }
            for (name, panel), edges in BARS.items()
        },
        "curves": {
            name: {
                "x": [round(x, 4) for x in found[0]["x"]],
                "y": [[round(y, 5) for y in line["y"]] for line in found],
            }
            for name, found in lines.items()
        },
    }
    text = json.dumps(kept, ensure_ascii=False)
    PUBLISHED.write_text(text.replace("], [", "],\n [").replace('}, "', '},\n "') + "\n", "utf-8")


if __name__ == "__main__":
    main()
