"""Client of onnxplain: what an ONNX model has learned, as typed results.

>>> import onnxplain
>>> with onnxplain.connect("localhost:8081") as client:
...     found = client.explain("model.onnx", frame, onnxplain.Interactions())
>>> found.interactions.to_pandas()

Names load when they are first used: importing this package, or its messages
in `onnxplain.v1`, imports neither grpc nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxplain.async_client import AsyncClient, connect_async
    from onnxplain.average_loss import AverageLossResult, GroupLoss
    from onnxplain.client import Client, connect
    from onnxplain.errors import ExplainError
    from onnxplain.explanations import Explanations
    from onnxplain.feature_vectors import FeatureVectors, FeatureVectorsResult, Knockoffs
    from onnxplain.firm import FirmImportance, FirmKmers, FirmResult
    from onnxplain.firm_methods import Firm, FirmPairs, FirmSequences
    from onnxplain.in_process import local
    from onnxplain.individual_conditional_expectation import (
        IndividualConditionalExpectationCurves,
        IndividualConditionalExpectationResult,
    )
    from onnxplain.interactions import InteractionsResult, InteractionStatistic
    from onnxplain.loss_methods import AverageLoss, PermutationImportance
    from onnxplain.methods import IndividualConditionalExpectation, Interactions, PartialDependence
    from onnxplain.partial_dependence import PartialDependenceCurve, PartialDependenceResult
    from onnxplain.permutation_importance import FeatureImportance, PermutationImportanceResult
    from onnxplain.plots import Plot
    from onnxplain.progress import Progress
    from onnxplain.provenance import ClassPairing, ModelDescription, ModelInput, Receipt, RowsUsed
    from onnxplain.swarm import Swarm, SwarmEffect, SwarmResult
    from onnxplain.uploads import ModelRef, TableRef

__all__ = [
    "AsyncClient",
    "AverageLoss",
    "AverageLossResult",
    "ClassPairing",
    "Client",
    "ExplainError",
    "Explanations",
    "FeatureImportance",
    "FeatureVectors",
    "FeatureVectorsResult",
    "Firm",
    "FirmImportance",
    "FirmKmers",
    "FirmPairs",
    "FirmResult",
    "FirmSequences",
    "GroupLoss",
    "IndividualConditionalExpectation",
    "IndividualConditionalExpectationCurves",
    "IndividualConditionalExpectationResult",
    "InteractionStatistic",
    "Interactions",
    "InteractionsResult",
    "Knockoffs",
    "ModelDescription",
    "ModelInput",
    "ModelRef",
    "PartialDependence",
    "PartialDependenceCurve",
    "PartialDependenceResult",
    "PermutationImportance",
    "PermutationImportanceResult",
    "Plot",
    "Progress",
    "Receipt",
    "RowsUsed",
    "Swarm",
    "SwarmEffect",
    "SwarmResult",
    "TableRef",
    "connect",
    "connect_async",
    "local",
]

_HOMES = {
    "AsyncClient": "async_client",
    "AverageLoss": "loss_methods",
    "AverageLossResult": "average_loss",
    "ClassPairing": "provenance",
    "Client": "client",
    "ExplainError": "errors",
    "Explanations": "explanations",
    "FeatureImportance": "permutation_importance",
    "FeatureVectors": "feature_vectors",
    "FeatureVectorsResult": "feature_vectors",
    "Firm": "firm_methods",
    "FirmImportance": "firm",
    "FirmKmers": "firm",
    "FirmPairs": "firm_methods",
    "FirmResult": "firm",
    "FirmSequences": "firm_methods",
    "GroupLoss": "average_loss",
    "IndividualConditionalExpectation": "methods",
    "IndividualConditionalExpectationCurves": "individual_conditional_expectation",
    "IndividualConditionalExpectationResult": "individual_conditional_expectation",
    "InteractionStatistic": "interactions",
    "Interactions": "methods",
    "InteractionsResult": "interactions",
    "Knockoffs": "feature_vectors",
    "ModelDescription": "provenance",
    "ModelInput": "provenance",
    "ModelRef": "uploads",
    "PartialDependence": "methods",
    "PartialDependenceCurve": "partial_dependence",
    "PartialDependenceResult": "partial_dependence",
    "PermutationImportance": "loss_methods",
    "PermutationImportanceResult": "permutation_importance",
    "Plot": "plots",
    "Progress": "progress",
    "Receipt": "provenance",
    "RowsUsed": "provenance",
    "Swarm": "swarm",
    "SwarmEffect": "swarm",
    "SwarmResult": "swarm",
    "TableRef": "uploads",
    "connect": "client",
    "connect_async": "async_client",
    "local": "in_process",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module 'onnxplain' has no attribute {name!r}")
    return getattr(import_module(f"onnxplain.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Name what is public."""
    return sorted(__all__)
