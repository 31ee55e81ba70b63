"""Plots of FIRM: the ranking with intervals, curves of the expected score, and squares of pairs.

Read `ranking`, then `curves` and `squares`.
"""

from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.firm.ranking import plots

DRAWING = Drawing(plots=plots)
