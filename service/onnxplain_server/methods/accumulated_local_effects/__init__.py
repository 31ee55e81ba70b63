"""Accumulated local effects: differences along a feature between rows as they occur.

Reading order: `options`, `steps` (the points of a feature and the rows between them), `compute`,
`accumulation` (of one feature), `surface` (of two), `result`.

Apley and Zhu (2020), "Visualizing the Effects of Predictor Variables in Black Box Supervised
Learning Models", Journal of the Royal Statistical Society B 82(4), 1059-1086.
doi:10.1111/rssb.12377
"""

from onnxplain_server.methods.accumulated_local_effects.compute import Moves, compute, moves
from onnxplain_server.methods.accumulated_local_effects.options import Options, resolve
from onnxplain_server.methods.accumulated_local_effects.result import (
    AccumulatedLocalEffect,
    Result,
)

__all__ = ["AccumulatedLocalEffect", "Moves", "Options", "Result", "compute", "moves", "resolve"]
