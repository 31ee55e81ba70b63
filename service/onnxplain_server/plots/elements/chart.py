"""Frame of a plot: title, remarks, description and style; panels and tooltips."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onnxplain_server.plots.elements.style import (
    CONFIG,
    PANEL_COLUMNS,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    Spec,
)

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

SUBTITLE_WIDTH = 92  # characters that fit over a plot and its labels
TITLE_WIDTH = 62


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """A plot as data; `Plot` of the contract.

    Attributes
    ----------
    name : str
        Letters, digits and "-"; unique within an explanation.
    title, description : str
        Text for people; the description tells in words what the plot shows.
    vega_lite : dict
        Plain and finite, so that it is valid JSON.
    """

    name: str
    title: str
    description: str
    vega_lite: Spec


def finish(
    name: str, title: str, remarks: Iterable[str], description: str, body: Spec, **usermeta: object
) -> Plot:
    """Add title, remarks as subtitle, description and style to a specification.

    `usermeta` is for pages: `hint` says how to use a plot there, and `keepsSize` that its width
    must not change.
    """
    # Non-breaking spaces keep "age = 20" on one line.
    unbroken = [remark.replace(" = ", "\u00a0=\u00a0") for remark in remarks]
    spec: Spec = {
        "$schema": SCHEMA,
        "title": {
            "text": wrapped([title], TITLE_WIDTH),
            "subtitle": wrapped(unbroken, SUBTITLE_WIDTH),
        },
        "description": description,
        # For pages that break the lines anew.
        "usermeta": {"title": title, "remarks": unbroken, **usermeta},
        **body,
        "config": CONFIG,
    }
    return Plot(name, title, description, spec)


def wrapped(texts: Iterable[str], width: int) -> list[str]:
    """Break texts into lines of up to `width` characters, between words only."""
    return [
        line
        for text in texts
        for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    ]


def in_panels(rows: list[Spec], panels: Sequence[str], drawing: Spec, resolve: Spec) -> Spec:
    """Draw once, or once for each value of the rows' `panel`.

    Parameters
    ----------
    rows : list of dict
        The data; each has a `panel` if there are several panels.
    panels : sequence of str
        Labels in order.
    drawing : dict
        Layers without data, width and height, unless it brings its own.
    resolve : dict
        Scales that the panels do not share.
    """
    data = {"values": rows}
    if len(panels) < 2:
        return {"data": data, "width": PLOT_WIDTH, "height": PLOT_HEIGHT, **drawing}
    return {
        "data": data,
        "facet": {"field": "panel", "type": "nominal", "sort": list(panels), "title": None},
        "columns": min(PANEL_COLUMNS, 2 if len(panels) == 4 else len(panels)),
        "spec": {"width": PANEL_WIDTH, "height": PANEL_HEIGHT, **drawing},
        "resolve": resolve,
    }


def tooltip(*fields: tuple[str, str, str]) -> list[Spec]:
    """Describe a mark by (field, title, d3 format or "") each, no title twice.

    Titles may be feature names, and a feature may be called "output" too.
    """
    shown: dict[str, Spec] = {}
    for field, title, number_format in fields:
        free = title
        while free in shown:
            free += " (feature)"
        kind: Spec = (
            {"type": "quantitative", "format": number_format}
            if number_format
            else {"type": "nominal"}
        )
        shown[free] = {"field": field, "title": free, **kind}
    return list(shown.values())
