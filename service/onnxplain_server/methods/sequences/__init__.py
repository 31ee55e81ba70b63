"""Importances of strings at positions of sequences, whether a model knows them or not."""

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
