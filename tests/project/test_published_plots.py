"""Comparison of feature vectors with the plots that their authors published."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from bench.seeds import openml
from bench.seeds.published_plots import agreement, balanced
from bench.shared.tables import Table

VECTORS = np.array([[4.0, 0.0], [3.0, 1.0], [1.0, 2.0], [0.0, 2.5]])


def turned(vectors: np.ndarray, degrees: float) -> np.ndarray:
    angle = np.radians(degrees)
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(vectors @ rotation)


@pytest.mark.parametrize("degrees", [0.0, 35.0, 180.0, 271.0])
@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_rotation_reflection_and_scale_do_not_matter(degrees: float, mirror: float) -> None:
    found = agreement(VECTORS, 0.1 * turned(VECTORS * [1.0, mirror], degrees))

    assert found["lengths"] == pytest.approx(1.0)
    assert found["angles"] == pytest.approx(1.0)
    assert found["pairs"] == 6


def test_correlations_worked_by_hand() -> None:
    """Lengths 3, 2, 1 and 2, 3, 1: two ranks are off by 1. Angles have the same order."""
    first = np.array([turned(np.array([3.0, 0]), 0), turned(np.array([2.0, 0]), 10),
                      turned(np.array([1.0, 0]), 40)])  # fmt: skip
    second = np.array([turned(np.array([2.0, 0]), 0), turned(np.array([3.0, 0]), 10),
                       turned(np.array([1.0, 0]), 21)])  # fmt: skip

    found = agreement(first, second)

    assert found["lengths"] == pytest.approx(1 - 6 * 2 / (3 * 8))
    # Angles of pairs 01, 02, 12: 10, 40, 30 and 10, 21, 11.
    assert found["angles"] == pytest.approx(1.0)


def test_angles_of_short_features_do_not_count() -> None:
    short = np.vstack([VECTORS, [[0.01, 0.01]]])
    other = np.vstack([VECTORS, [[-0.01, 0.01]]])

    found = agreement(short, other)

    assert found["pairs"] == 6
    assert found["angles"] == pytest.approx(1.0)


def test_as_many_rows_of_each_class_are_drawn() -> None:
    target = np.array(["a"] * 7 + ["b"] * 3)
    table = Table(("x",), (np.arange(10.0),), target)

    drawn = balanced(table, 0)

    assert sorted(drawn.target) == ["a"] * 3 + ["b"] * 3
    assert all(
        target[int(row)] == name for row, name in zip(*drawn.columns, drawn.target, strict=True)
    )


def test_a_plot_gives_names_and_coordinates(tmp_path: Path) -> None:
    folder = tmp_path / "featurevec/featurevec/example/plots/OpenML"
    folder.mkdir(parents=True)
    # Components are drawn upwards and to the right; two points only widen the scale of colors.
    trace = {"x": [0.5, -0.25, 0, 0], "y": [1, 2, 0, 0], "hovertext": ["a", "b", "origin", ""]}
    text = f'<script>Plotly.newPlot( "id", {json.dumps([trace])}, {{}})</script>'
    (folder / "wind.html").write_text(text, encoding="utf-8")

    names, vectors = openml.published(tmp_path, "wind")

    assert names == ["a", "b"]
    assert vectors.tolist() == [[1, 0.5], [2, -0.25]]
    assert openml.digest(tmp_path, "wind") == hashlib.sha256(text.encode()).hexdigest()


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "isabellaloren4/Quantcal/datasets/wind.csv"
    path.parent.mkdir(parents=True)
    path.write_text("year,target\n61,1\n", encoding="utf-8")

    with pytest.raises(ValueError, match="not the file that was compared with"):
        openml.load(tmp_path, "wind")


@pytest.mark.parametrize(
    ("name", "place"), [("Age", 1), ("V1", 0), ("url_hash", 1), ("impression", 0)]
)
def test_features_of_a_plot_are_found_in_the_table(name: str, place: int) -> None:
    assert openml.position(["job", "age"], name) == place
