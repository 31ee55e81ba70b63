"""Signs of directions beside bars: the prediction rises, or falls, as the feature rises."""

from __future__ import annotations

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.plots.elements.style import Spec

SIGNS = {1: "▲", -1: "▼", 0: ""}
_LOOK: Spec = {"filled": True, "size": 24, "color": "#202124", "opacity": 1, "xOffset": 7}
_WORDS = {1: "rises with it", -1: "falls as it rises", 0: "not known"}


def sign(direction: int) -> Spec:
    """Return the direction of a bar as data: in words, and for its triangle."""
    return {"direction": _WORDS[direction], **({"sign": direction} if direction else {})}


def sign_layers(directions: Matrix | None, place: Spec) -> list[Spec]:
    """Draw a triangle at the end of each bar among several that has a direction."""
    if directions is None or not directions.any():
        return []
    return [
        {
            "transform": [{"filter": f"datum.sign === {number}"}],
            "mark": {"type": "point", "shape": shape, **_LOOK},
            "encoding": place,
        }
        for number, shape in ((1, "triangle-up"), (-1, "triangle-down"))
    ]
