"""Swarm: perturbation of single features until the model's score breaks.

Read `options`, `perturbation`, `cohorts`, `scoring`, then `steps` (exact) and `searching` (by
trial), and `compute`. Only `predicting` calls the model.

Marcílio-Jr, Eler and Breve (2021), "Model-agnostic interpretation by visualization of feature
perturbations", arXiv 2101.10502.
"""

from onnxplain_server.methods.swarm.compute import (
    Problem,
    StepReader,
    compute,
    confirmation_cost,
    cost,
)
from onnxplain_server.methods.swarm.linear_steps import LinearStepReader
from onnxplain_server.methods.swarm.options import (
    Motion,
    Options,
    ParticleStart,
    Perturbation,
    Resolution,
    Score,
    Search,
    SearchSettings,
    resolve,
)
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.result import Effect, Result
from onnxplain_server.methods.swarm.scoring import GroundTruth
from onnxplain_server.methods.swarm.tree_steps import TreeStepReader

__all__ = [
    "Effect",
    "GroundTruth",
    "LinearStepReader",
    "Motion",
    "MovedRowPredictor",
    "Options",
    "ParticleStart",
    "Perturbation",
    "Problem",
    "Resolution",
    "Result",
    "Score",
    "Search",
    "SearchSettings",
    "StepReader",
    "TreeStepReader",
    "compute",
    "confirmation_cost",
    "cost",
    "resolve",
]
