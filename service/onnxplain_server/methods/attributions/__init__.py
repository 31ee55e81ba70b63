"""Attributions: the part of each feature in the predictions of single rows.

Shapley (1953), "A Value for n-Person Games", in Contributions to the Theory of Games II, 307-317;
Lundberg and Lee (2017), "A Unified Approach to Interpreting Model Predictions", NeurIPS 30. Start
at `compute`, which takes the values of the engine where it knows them in closed form, else those of
all coalitions where these are few (`coalitions`), else estimates (`permutations`).
"""

from onnxplain_server.methods.attributions.compute import (
    Way,
    choose_way,
    compute,
    compute_streamed,
    cost,
)
from onnxplain_server.methods.attributions.options import Options, resolve
from onnxplain_server.methods.attributions.result import Result, with_replicates

__all__ = [
    "Options",
    "Result",
    "Way",
    "choose_way",
    "compute",
    "compute_streamed",
    "cost",
    "resolve",
    "with_replicates",
]
