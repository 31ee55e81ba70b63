"""Ensemble with a linear part: outputs add sums over trees and linear functions of features."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import ModelProto

from onnxplain_server.trees.reading.ensemble import Ensemble, build_ensemble
from onnxplain_server.trees.reading.linear.part import LinearPart
from onnxplain_server.trees.reading.refusal import Refusal, RefusedError
from onnxplain_server.trees.reading.walk import walk_sums

SUMS_WITH_LINEAR = "sums over trees and linear functions of features"
"""What the outputs are, for the receipt."""


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleWithLinear:
    """Trees, and what linear functions of features add to their outputs.

    Attributes
    ----------
    ensemble : Ensemble
        With the constants of all outputs.
    linear : LinearPart
    """

    ensemble: Ensemble
    linear: LinearPart


def read_sums(
    model: ModelProto, width: int | None = None
) -> Ensemble | EnsembleWithLinear | Refusal:
    """Read a model whose outputs are affine functions of sums over trees and of features.

    Parameters are those of `read_ensemble`, as are refusals.
    """
    try:
        graph = walk_sums(model, width)
        ensemble = build_ensemble(graph)
    except RefusedError as refused:
        return Refusal(refused.reason)
    return EnsembleWithLinear(ensemble, graph.linear) if graph.linear.columns else ensemble
