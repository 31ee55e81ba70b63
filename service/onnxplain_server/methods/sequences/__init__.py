"""Importances of strings at positions of sequences, whether a model knows them or not."""

from onnxplain_server.methods.sequences.compute import Setting, of_weights
from onnxplain_server.methods.sequences.options import (
    Listed,
    Options,
    SequenceLayout,
    SequenceModel,
    chain,
    check,
    check_sizes,
)
from onnxplain_server.methods.sequences.poim import Weights, tables
from onnxplain_server.methods.sequences.result import Result
from onnxplain_server.methods.sequences.sampling import cost, of_score

__all__ = [
    "Listed",
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
    "of_score",
    "of_weights",
    "tables",
]
