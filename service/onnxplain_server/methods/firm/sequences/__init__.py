"""Importances of strings at positions of sequences, whether a model knows them or not."""

from onnxplain_server.methods.firm.sequences.compute import Setting, of_weights
from onnxplain_server.methods.firm.sequences.options import (
    Chain,
    Layout,
    Listed,
    Options,
    chain,
    check,
    check_sizes,
)
from onnxplain_server.methods.firm.sequences.poim import Weights, tables
from onnxplain_server.methods.firm.sequences.result import Result
from onnxplain_server.methods.firm.sequences.sampling import cost, of_score

__all__ = [
    "Chain",
    "Layout",
    "Listed",
    "Options",
    "Result",
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
