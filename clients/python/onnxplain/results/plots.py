"""Plots of results, as Vega-Lite specifications."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from onnxplain.display import figure
from onnxplain.v1 import plot_pb2


@dataclass(frozen=True, slots=True)
class InteractivePlot:
    """Page of one plot, in a frame of a notebook's output.

    Attributes
    ----------
    title : str
    html : str
        The page.
    """

    title: str
    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return figure.frame(self.title, self.html)


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of a result; a notebook shows it.

    Attributes
    ----------
    name : str
        Identifier, unique among the plots of one explanation, like "curve-age".
    title : str
        For people.
    description : str
        What the picture shows, in words.
    vega_lite : str
        Vega-Lite specification: the JSON text, with its data inside.
    """

    name: str
    title: str
    description: str
    vega_lite: str = field(repr=False)

    @classmethod
    def from_message(cls, message: plot_pb2.Plot) -> Plot:
        """Read the message of the contract."""
        return cls(message.name, message.title, message.description, message.vega_lite)

    @property
    def spec(self) -> dict[str, Any]:
        """The specification, for example for `altair.Chart.from_dict`."""
        spec: dict[str, Any] = json.loads(self.vega_lite)
        return spec

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Write an interactive page, about 0.9 MB, which loads nothing; return it.

        Raises
        ------
        ImportError
            Where no renderer is installed: `pip install onnxplain[notebook]`.
        """
        page = figure.page(self)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def interactive(self) -> InteractivePlot:
        """Return what a notebook shows with tooltips and switches: the page of `to_html`."""
        return InteractivePlot(self.title, self.to_html())

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return HTML, PNG where it can be drawn here, Vega-Lite and words."""
        pictures, sizes = figure.still_pictures(self)
        bundle = {
            "text/html": figure.figure(self),
            **pictures,
            "application/vnd.vegalite.v6+json": self.spec,
            "text/plain": self.description,
        }
        return bundle, sizes
