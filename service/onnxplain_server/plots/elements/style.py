"""Style of all plots: colours, fonts, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.plots.elements.text_width import LABEL_SIZE

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

SERIES_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#000000",
)
"""Okabe and Ito's palette, safe for all kinds of colour vision; without its yellow, which is
invisible on white."""

MOST_SERIES = len(SERIES_COLOURS)

PLAIN_COLOUR = SERIES_COLOURS[0]

MISSING_COLOUR = "#9aa0a6"
"""Colour of the missing value's series among ordered ones."""

UNCHANGED_COLOUR = "#9aa0a6"
"""Colour of changes that chance can make, beside `PLAIN_COLOUR`."""

_VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#85d44b")

AREA_SCHEME = "viridis"

PLOT_WIDTH, PLOT_HEIGHT = 460, 300
PANEL_WIDTH, PANEL_HEIGHT = 250, 190
PANEL_COLUMNS = 3
NARROWEST_WIDTH = 180
"""Pixels to which a page may narrow a plot without its labels; see report/drawing.js."""
BAR_STEP, GROUPED_BAR_STEP = 24, 10

_INK, _QUIET, _FAINT = "#202124", "#5f6368", "#e8eaed"

AXIS_TITLE = (_QUIET, 12)
"""Colour and size in pixels of titles of axes."""

# The background is always white: black, the blue and the ends of viridis would vanish on a dark
# one, and text readable on both would have to be grey.
CONFIG: Spec = {
    "background": "white",
    "padding": 16,
    "font": "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "offset": 14,
        "color": _INK,
        "fontSize": 16,
        "fontWeight": 600,
        "subtitleColor": _QUIET,
        "subtitleFontSize": 12,
        "subtitleLineHeight": 16,
        "subtitlePadding": 6,
    },
    "axis": {
        "domainColor": "#9aa0a6",
        "gridColor": _FAINT,
        "labelColor": _INK,
        "labelFlush": False,
        "labelFontSize": LABEL_SIZE,
        "labelLimit": 0,
        "labelPadding": 5,
        "labelSeparation": 8,
        "tickColor": "#9aa0a6",
        "titleColor": _QUIET,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleLimit": 0,
        "titlePadding": 10,
    },
    "header": {
        "labelColor": _INK,
        "labelFontSize": LABEL_SIZE,
        "labelFontWeight": 600,
        "labelLimit": PANEL_WIDTH,
        "title": None,
    },
    "text": {"fontSize": LABEL_SIZE},
    "legend": {
        "gradientLength": 180,
        "labelColor": _INK,
        "labelFontSize": LABEL_SIZE,
        "labelLimit": 0,
        "symbolSize": 64,
        "titleColor": _QUIET,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleLimit": 0,
    },
}


def colour_at(share: float, palette: Sequence[str]) -> str:
    """Return the colour at a share of an even scale between colours like "#440154"."""
    parts = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in palette])
    place = share * (len(palette) - 1)
    rgb = [round(float(np.interp(place, range(len(palette)), part))) for part in parts.T]
    return "#" + "".join(f"{part:02x}" for part in rgb)


def is_dark(colour: str) -> bool:
    """Tell whether white is read better than black on a colour, by the contrast of WCAG 2.2."""
    shares = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return (luminance + 0.05) ** 2 < 1.05 * 0.05


def ordered_colours(count: int) -> list[str]:
    """Return colours for ordered lines: viridis without its yellow end, invisible on white."""
    return [colour_at(float(share), _VIRIDIS) for share in np.linspace(0, 1, count)]
