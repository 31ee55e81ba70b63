"""Feature Vectors: embeddings of features from decision paths, by importance and similarity.

Read `options`, `paths`, `cooccurrence`, `embedding` and `compute`; `growing` grows surrogate
forests, `interchange` finds interchangeable features. Nothing here calls the model.

Ghorbani, Berenbaum, Ivgi, Dafna and Zou (2022), "Beyond Importance Scores: Interpreting Tabular
ML by Visualizing Feature Semantics", Information 13(1), 15. doi:10.3390/info13010015
"""

from onnxplain_server.methods.feature_vectors.compute import (
    TrainingData,
    from_forest,
    from_training_data,
)
from onnxplain_server.methods.feature_vectors.cooccurrence import CountingUnit, Rule
from onnxplain_server.methods.feature_vectors.options import (
    Growth,
    Knockoffs,
    Options,
    PathSource,
    Reading,
    player_numbers,
    positions,
    resolve,
)
from onnxplain_server.methods.feature_vectors.result import Result

__all__ = [
    "CountingUnit",
    "Growth",
    "Knockoffs",
    "Options",
    "PathSource",
    "Reading",
    "Result",
    "Rule",
    "TrainingData",
    "from_forest",
    "from_training_data",
    "player_numbers",
    "positions",
    "resolve",
]
