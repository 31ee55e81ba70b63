"""Plots of results, as Vega-Lite specifications."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from onnxplain.v1 import plot_pb2


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

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/vnd.vegalite.v6+json": self.spec, "text/plain": self.description}
