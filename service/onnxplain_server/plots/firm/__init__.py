"""Plots of FIRM: the ranking with intervals, curves of the expected score, and squares of pairs.

Read `ranking` (`plots`), then `curves` and `squares`.
"""

from onnxplain_server.plots.firm.ranking import plots

__all__ = ["plots"]
