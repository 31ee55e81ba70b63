"""Interaction statistics (H-statistics) of Friedman and Popescu: strength of joint effects.

Read `options`, `compute`, `weighted_measurement`, `strength` (the formulas) and `presentation`.
Effects come from an engine; `strength` and `permutation_test` take arrays only.
"""

from onnxplain_server.methods.interactions.compute import approximate, compute, cost, for_joint
from onnxplain_server.methods.interactions.options import Options, resolve
from onnxplain_server.methods.interactions.result import Result, Statistic

__all__ = [
    "Options",
    "Result",
    "Statistic",
    "approximate",
    "compute",
    "cost",
    "for_joint",
    "resolve",
]
