"""Pictures of docs/images that rows of the seeds show."""

from __future__ import annotations

from pathlib import Path

import onnxplain
import vl_convert

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_SCALE = 1.5


def draw(answer: onnxplain.Explanations, plot: str, picture: str) -> None:
    """Write a plot of an answer into docs/images."""
    drawn = vl_convert.vegalite_to_png(answer.plot(plot).vega_lite, vl_version="6.4", scale=_SCALE)
    (_IMAGES / picture).write_bytes(drawn)
