"""Fixtures of the tests of plots: Vega-Lite's schema and compiler, and the text of a picture."""

import importlib.resources
import itertools
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import jsonschema_rs  # which schemathesis brings
import numpy as np
import pytest
import vl_convert
from onnxplain_server.methods import interactions as interactions_method
from onnxplain_server.methods import partial_dependence as partial_dependence_method
from onnxplain_server.plots.elements.chart import Plot

SVG = "{http://www.w3.org/2000/svg}"
VEGA_LITE = "6.4"


@dataclass(frozen=True)
class Text:
    """A piece of text in a picture: where it starts, in pixels, and on which axis."""

    content: str
    x: float
    y: float
    role: str
    axis: int
    angle: float


def placed_texts(
    node: ET.Element, x: float = 0, y: float = 0, role: str = "", axis: int = 0
) -> Iterator[Text]:
    """Walk an SVG that Vega drew and add up its translations."""
    moves = node.get("transform", "")
    angle = 0.0
    if moves.startswith("translate("):
        dx, dy = moves[10:].split(")")[0].split(",")
        x, y = x + float(dx), y + float(dy)
        angle = float(moves.split("rotate(")[1].split(")")[0]) if "rotate(" in moves else 0.0
    classes = node.get("class", "").split()
    role = next((name for name in classes if name.startswith("role-")), role)
    axis = id(node) if "role-axis-label" in classes else axis
    if node.tag == f"{SVG}text":
        yield Text(" ".join(node.itertext()), x, y, role, axis, angle)
    for child in node:
        yield from placed_texts(child, x, y, role, axis)


def with_quoted_reference(part: dict[str, Any]) -> dict[str, Any]:
    """Write the reference to a type like `Field<string>` as a URI, as JSON Schema asks for."""
    if isinstance(reference := part.get("$ref"), str):
        part["$ref"] = quote(reference, safe="#/")
    return part


@pytest.fixture(scope="session")
def schema() -> jsonschema_rs.Draft7Validator:
    """Vega-Lite's JSON schema, as altair ships it."""
    path = importlib.resources.files("altair") / "vegalite/v6/schema/vega-lite-schema.json"
    text = path.read_text(encoding="utf-8")
    return jsonschema_rs.Draft7Validator(json.loads(text, object_hook=with_quoted_reference))


@pytest.fixture(scope="session")
def draw(schema: jsonschema_rs.Draft7Validator) -> Callable[[Plot], list[Text]]:
    """Validate, compile and render a plot; give the texts that the picture shows."""

    def drawn(plot: Plot) -> list[Text]:
        text = json.dumps(plot.vega_lite, allow_nan=False)
        schema.validate(json.loads(text))
        svg = vl_convert.vegalite_to_svg(text, vl_version=VEGA_LITE)
        return list(placed_texts(ET.fromstring(svg)))  # noqa: S314 (what vl-convert wrote)

    return drawn


@pytest.fixture(scope="session")
def check_readable(draw: Callable[[Plot], list[Text]]) -> Callable[[Plot], None]:
    """Check that a plot can be drawn, names itself, and has labels that keep clear."""

    def checked(plot: Plot) -> None:
        texts = draw(plot)
        shown = [text.content for text in texts]
        assert plot.title in " ".join(shown)
        assert plot.description.startswith(plot.title)
        assert not any(word in text for text in shown for word in ("undefined", "null", "NaN"))
        for _, labels in itertools.groupby(texts, key=lambda text: (text.role, text.axis)):
            axis = [text for text in labels if text.role == "role-axis-label"]
            for one, other in itertools.combinations(axis, 2):
                assert apart(one, other), f"{one} overlaps {other}"
                assert one.content != other.content, f"two labels are {one.content}"

    return checked


def apart(one: Text, other: Text, font_size: float = 11) -> bool:
    """Tell whether labels of one axis keep clear: below each other, or side by side."""
    if abs(one.y - other.y) >= font_size or one.angle:
        return bool(abs(one.x - other.x) + abs(one.y - other.y) >= font_size)
    letters = (len(one.content) + len(other.content)) / 2
    return bool(abs(one.x - other.x) >= 0.5 * font_size * letters)


@pytest.fixture(scope="session")
def statistic() -> Callable[..., interactions_method.Statistic]:
    """Build a statistic from its features and a numerator and denominator per output."""

    def built(
        features: str | tuple[str, ...], numerators, denominators=1.0
    ) -> interactions_method.Statistic:
        above = np.atleast_1d(np.array(numerators, float))
        below = np.broadcast_to(np.array(denominators, float), above.shape)
        names = tuple(features.split()) if isinstance(features, str) else features
        return interactions_method.Statistic(names, above, below)

    return built


@pytest.fixture(scope="session")
def interactions(
    statistic: Callable[..., interactions_method.Statistic],
) -> Callable[..., interactions_method.Result]:
    """Build a result of interaction statistics from its lists."""

    def built(outputs: tuple[str, ...] = ("price",), **orders) -> interactions_method.Result:
        empty: dict[str, Any] = dict.fromkeys(("overall", "pairwise", "threeway", "importance"), ())
        total = orders.pop("total", statistic("", [0.25] * len(outputs)))
        ones = np.ones(len(outputs))
        return interactions_method.Result(outputs, ones, total, **(empty | orders))

    return built


@pytest.fixture(scope="session")
def curve() -> Callable[..., partial_dependence_method.PartialDependenceCurve]:
    """Build a curve; strings become an array of objects, one output needs no second axis."""

    def built(
        features: tuple[str, ...],
        grid: tuple[Any, ...],
        values,
        group: str = "",
        weight: float = 1.0,
    ) -> partial_dependence_method.PartialDependenceCurve:
        numbers = np.array(values, float)
        columns = tuple(
            np.array(column, object if any(isinstance(v, str) for v in column) else float)
            for column in grid
        )
        values = numbers if numbers.ndim == 2 else numbers[:, None]
        return partial_dependence_method.PartialDependenceCurve(
            features, group, columns, values, weight
        )

    return built
