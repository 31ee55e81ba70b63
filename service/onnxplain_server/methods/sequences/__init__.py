"""Sequence importances: positional oligomer importance matrices (POIM) of strings and motifs.

Read `options`, `background` (Markov chain), `kmers`, then `poim` and `compute` (exact, for sums of
weights) or `sampling` (for any score). Nothing here predicts: scores are passed in as functions.
"""

from onnxplain_server.methods.sequences.compute import Setting, from_weights
from onnxplain_server.methods.sequences.options import (
    ListedWeights,
    Options,
    SequenceLayout,
    SequenceModel,
    chain,
    check,
    check_sizes,
)
from onnxplain_server.methods.sequences.poim import Weights, tables
from onnxplain_server.methods.sequences.result import Result
from onnxplain_server.methods.sequences.sampling import cost, from_samples

__all__ = [
    "ListedWeights",
    "Options",
    "Result",
    "SequenceLayout",
    "SequenceModel",
    "Setting",
    "Weights",
    "chain",
    "check",
    "check_sizes",
    "cost",
    "from_samples",
    "from_weights",
    "tables",
]
