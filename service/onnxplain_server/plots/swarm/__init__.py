"""Plots of swarm: importances, one plot in detail for each class, and the similarity of classes.

Read `importances` (`plots`), `detail` with its parts `summary` and `panels`, then `similarity`.
"""

from onnxplain_server.plots.swarm.importances import plots

__all__ = ["plots"]
