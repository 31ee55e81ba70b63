"""Bars with error bars."""

import json

import numpy as np
import pytest
import vl_convert
from onnxplain_server.plots.elements.chart import finish
from onnxplain_server.plots.marks.bars import Bars, BarTitles, ErrorBars, draw


@pytest.mark.parametrize(("error", "borders"), [(0.1, 1), (0.001, 0)])
def test_error_bars_have_a_border_that_does_not_look_like_a_bite(
    error: float, borders: int
) -> None:
    """The bar is about 460 pixels long, the border 4 wide: it needs 0.01 of 1 to be a line."""
    values = np.array([[1.0]])
    errors = ErrorBars(values - error / 2, values + error / 2)
    bars = Bars(("a",), ("a",), ("y",), (0,), values, 1, 1, 0, errors)
    body = draw(bars, BarTitles("feature"), "importance")

    svg = vl_convert.vegalite_to_svg(
        json.dumps(finish("bars", "Bars", [], "Bars.", body).vega_lite), vl_version="6.4"
    )

    assert svg.count('stroke="white"') == borders
    assert svg.count('stroke="#202124"') == 1
