"""Interaction statistics (H-statistics) of Friedman and Popescu: strength of joint effects.

Read `options`, `compute`, `weighted_measurement`, `strength` (the formulas) and `presentation`.
Effects come from an engine; `strength` and `permutation_test` take arrays only.
"""

from onnxplain_server.methods.interactions.compute import (
    approximate,
    compute,
    compute_streamed,
    cost,
    for_joint,
    grouped,
    streamed_cost,
)
from onnxplain_server.methods.interactions.options import Options, resolve
from onnxplain_server.methods.interactions.pair_choice import most_pairs, usual_pair_effects
from onnxplain_server.methods.interactions.result import Result, Statistic

__all__ = [
    "Options",
    "Result",
    "Statistic",
    "approximate",
    "compute",
    "compute_streamed",
    "cost",
    "for_joint",
    "grouped",
    "most_pairs",
    "resolve",
    "streamed_cost",
    "usual_pair_effects",
]
