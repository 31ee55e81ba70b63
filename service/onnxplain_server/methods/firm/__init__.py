"""FIRM: importance of any feature of the data, including features the model does not take.

Read `options`, the room `language` (features as expressions), `binding` (feature and estimator),
`measures` and `compute`. Only `gradients` and `contrasts` call the engine; all else takes arrays.

Zien, Krämer, Sonnenburg and Rätsch (2009), "The Feature Importance Ranking Measure", European
Conference on Machine Learning, Lecture Notes in Computer Science 5782. arXiv:0906.4258
"""

from onnxplain_server.methods.firm import gaussian
from onnxplain_server.methods.firm.compute import ScoredRows, complete, compute, compute_streamed
from onnxplain_server.methods.firm.covariance import Covariance
from onnxplain_server.methods.firm.options import (
    Combination,
    Contrast,
    Estimator,
    Options,
    Pairs,
    ScoreSource,
    check,
)
from onnxplain_server.methods.firm.result import Result
from onnxplain_server.methods.firm.weighted_scores import Moments

__all__ = [
    "Combination",
    "Contrast",
    "Covariance",
    "Estimator",
    "Moments",
    "Options",
    "Pairs",
    "Result",
    "ScoreSource",
    "ScoredRows",
    "check",
    "complete",
    "compute",
    "compute_streamed",
    "gaussian",
]
