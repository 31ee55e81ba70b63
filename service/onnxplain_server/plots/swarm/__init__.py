"""Plots of swarm: importances, one plot in detail for each class, and the similarity of classes.

Read `importances`, `detail` with its parts `summary` and `panels`, then `similarity`.
"""

from __future__ import annotations

from dataclasses import replace

from onnxplain_server.methods.swarm import Result
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.swarm.importances import plots
from onnxplain_server.plots.units.naming import Naming


def _named(result: Result, naming: Naming) -> Result:
    """Give classes their names in plots."""
    effects = [replace(e, class_name=naming.output(e.class_name)) for e in result.effects]
    names = tuple(map(naming.output, result.class_names))
    return replace(result, class_names=names, effects=tuple(effects))


DRAWING = Drawing(plots=plots, named=_named)
