"""How far features must be moved before a model breaks, and which class it then predicts.

Marcílio-Jr, Eler and Breve (2021), "Model-agnostic interpretation by visualization of feature
perturbations", arXiv 2101.10502.
"""

from onnxplain_server.methods.swarm.by_lines import LineReader
from onnxplain_server.methods.swarm.by_trees import TreeReader
from onnxplain_server.methods.swarm.compute import StepReader, Subject, compute, cost
from onnxplain_server.methods.swarm.judging import Truth
from onnxplain_server.methods.swarm.options import (
    Flight,
    Motion,
    Options,
    ParticleStart,
    Perturbation,
    Report,
    Score,
    Search,
    resolve,
)
from onnxplain_server.methods.swarm.predicting import Oracle
from onnxplain_server.methods.swarm.result import Effect, Result

__all__ = [
    "Effect",
    "Flight",
    "LineReader",
    "Motion",
    "Options",
    "Oracle",
    "ParticleStart",
    "Perturbation",
    "Report",
    "Result",
    "Score",
    "Search",
    "StepReader",
    "Subject",
    "TreeReader",
    "Truth",
    "compute",
    "cost",
    "resolve",
]
