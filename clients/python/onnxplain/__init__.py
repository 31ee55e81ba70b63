"""Client of onnxplain, which explains ONNX models: calls, options and typed results.

>>> import onnxplain
>>> with onnxplain.connect("localhost:8081") as client:
...     explanation = client.explain("model.onnx", frame, onnxplain.Interactions())
>>> explanation.interactions.to_pandas()

Lazy imports: a public name loads its module at first use. Importing this package, or its messages
in `onnxplain.v1`, imports neither grpc nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxplain.async_client import AsyncClient, connect_async
    from onnxplain.async_operations import AsyncOperation
    from onnxplain.client import Client, connect
    from onnxplain.errors import ExplainError
    from onnxplain.events import PartialExplanation
    from onnxplain.exporting import export
    from onnxplain.in_process import local
    from onnxplain.operations import Operation
    from onnxplain.progress import Progress
    from onnxplain.remote_models import RemoteInput, RemoteModel
    from onnxplain.requests.options.accumulated_local_effects import AccumulatedLocalEffects
    from onnxplain.requests.options.attributions import Attributions
    from onnxplain.requests.options.average_loss import AverageLoss
    from onnxplain.requests.options.feature_vectors import FeatureVectors, Knockoffs
    from onnxplain.requests.options.firm import Firm, FirmPairs, FirmSequences
    from onnxplain.requests.options.individual_conditional_expectation import (
        IndividualConditionalExpectation,
    )
    from onnxplain.requests.options.interactions import Interactions
    from onnxplain.requests.options.partial_dependence import PartialDependence
    from onnxplain.requests.options.permutation_importance import PermutationImportance
    from onnxplain.requests.options.swarm import Swarm
    from onnxplain.requests.references import Reference
    from onnxplain.results.accumulated_local_effects import (
        AccumulatedLocalEffect,
        AccumulatedLocalEffectsResult,
    )
    from onnxplain.results.attributions import AttributionsResult
    from onnxplain.results.average_loss import AverageLossResult, GroupLoss
    from onnxplain.results.comparisons import (
        CurveDifference,
        ExplanationComparison,
        LeadingChange,
        RankingComparison,
        StatisticDifference,
        UnmatchedStatistic,
    )
    from onnxplain.results.explanations import Explanations, load
    from onnxplain.results.feature_vectors import FeatureVectorsResult
    from onnxplain.results.firm import FirmImportance, FirmKmers, FirmResult
    from onnxplain.results.individual_conditional_expectation import (
        IndividualConditionalExpectationCurves,
        IndividualConditionalExpectationResult,
    )
    from onnxplain.results.interactions import InteractionsResult, InteractionStatistic
    from onnxplain.results.origins import (
        ClassPairing,
        Conclusion,
        RemoteModelReceipt,
        RowsUsed,
        Source,
    )
    from onnxplain.results.partial_dependence import (
        GroupDifference,
        PartialDependenceCurve,
        PartialDependenceResult,
    )
    from onnxplain.results.permutation_importance import (
        FeatureImportance,
        PermutationImportanceResult,
    )
    from onnxplain.results.plans import ExplanationPlan, MethodPlan, PlanSaving, RemainingQuota
    from onnxplain.results.plots import Plot
    from onnxplain.results.predictions import (
        DifferingRow,
        LikelyCause,
        OutputComparison,
        PredictionComparison,
        Predictions,
    )
    from onnxplain.results.provenance import ModelDescription, ModelInput, Receipt
    from onnxplain.results.swarm import SwarmEffect, SwarmResult
    from onnxplain.results.table_descriptions import (
        ColumnDescription,
        FeatureMatching,
        TableDescription,
    )
    from onnxplain.transport.uploads import ModelRef, TableRef
    from onnxplain.uris import ModelUri, TableUris

__all__ = [
    "AccumulatedLocalEffect",
    "AccumulatedLocalEffects",
    "AccumulatedLocalEffectsResult",
    "AsyncClient",
    "AsyncOperation",
    "Attributions",
    "AttributionsResult",
    "AverageLoss",
    "AverageLossResult",
    "ClassPairing",
    "Client",
    "ColumnDescription",
    "Conclusion",
    "CurveDifference",
    "DifferingRow",
    "ExplainError",
    "ExplanationComparison",
    "ExplanationPlan",
    "Explanations",
    "FeatureImportance",
    "FeatureMatching",
    "FeatureVectors",
    "FeatureVectorsResult",
    "Firm",
    "FirmImportance",
    "FirmKmers",
    "FirmPairs",
    "FirmResult",
    "FirmSequences",
    "GroupDifference",
    "GroupLoss",
    "IndividualConditionalExpectation",
    "IndividualConditionalExpectationCurves",
    "IndividualConditionalExpectationResult",
    "InteractionStatistic",
    "Interactions",
    "InteractionsResult",
    "Knockoffs",
    "LeadingChange",
    "LikelyCause",
    "MethodPlan",
    "ModelDescription",
    "ModelInput",
    "ModelRef",
    "ModelUri",
    "Operation",
    "OutputComparison",
    "PartialDependence",
    "PartialDependenceCurve",
    "PartialDependenceResult",
    "PartialExplanation",
    "PermutationImportance",
    "PermutationImportanceResult",
    "PlanSaving",
    "Plot",
    "PredictionComparison",
    "Predictions",
    "Progress",
    "RankingComparison",
    "Receipt",
    "Reference",
    "RemainingQuota",
    "RemoteInput",
    "RemoteModel",
    "RemoteModelReceipt",
    "RowsUsed",
    "Source",
    "StatisticDifference",
    "Swarm",
    "SwarmEffect",
    "SwarmResult",
    "TableDescription",
    "TableRef",
    "TableUris",
    "UnmatchedStatistic",
    "connect",
    "connect_async",
    "export",
    "load",
    "local",
]

_MODULES = {
    "AccumulatedLocalEffect": "results.accumulated_local_effects",
    "AccumulatedLocalEffects": "requests.options.accumulated_local_effects",
    "AccumulatedLocalEffectsResult": "results.accumulated_local_effects",
    "AsyncClient": "async_client",
    "AsyncOperation": "async_operations",
    "Attributions": "requests.options.attributions",
    "AttributionsResult": "results.attributions",
    "AverageLoss": "requests.options.average_loss",
    "AverageLossResult": "results.average_loss",
    "ClassPairing": "results.origins",
    "Client": "client",
    "ColumnDescription": "results.table_descriptions",
    "Conclusion": "results.origins",
    "CurveDifference": "results.comparisons",
    "DifferingRow": "results.predictions",
    "ExplainError": "errors",
    "ExplanationComparison": "results.comparisons",
    "ExplanationPlan": "results.plans",
    "Explanations": "results.explanations",
    "FeatureImportance": "results.permutation_importance",
    "FeatureMatching": "results.table_descriptions",
    "FeatureVectors": "requests.options.feature_vectors",
    "FeatureVectorsResult": "results.feature_vectors",
    "Firm": "requests.options.firm",
    "FirmImportance": "results.firm",
    "FirmKmers": "results.firm",
    "FirmPairs": "requests.options.firm",
    "FirmResult": "results.firm",
    "FirmSequences": "requests.options.firm",
    "GroupDifference": "results.partial_dependence",
    "GroupLoss": "results.average_loss",
    "IndividualConditionalExpectation": "requests.options.individual_conditional_expectation",
    "IndividualConditionalExpectationCurves": "results.individual_conditional_expectation",
    "IndividualConditionalExpectationResult": "results.individual_conditional_expectation",
    "InteractionStatistic": "results.interactions",
    "Interactions": "requests.options.interactions",
    "InteractionsResult": "results.interactions",
    "Knockoffs": "requests.options.feature_vectors",
    "LeadingChange": "results.comparisons",
    "LikelyCause": "results.predictions",
    "MethodPlan": "results.plans",
    "ModelDescription": "results.provenance",
    "ModelInput": "results.provenance",
    "ModelRef": "transport.uploads",
    "ModelUri": "uris",
    "Operation": "operations",
    "OutputComparison": "results.predictions",
    "PartialDependence": "requests.options.partial_dependence",
    "PartialDependenceCurve": "results.partial_dependence",
    "PartialDependenceResult": "results.partial_dependence",
    "PartialExplanation": "events",
    "PermutationImportance": "requests.options.permutation_importance",
    "PermutationImportanceResult": "results.permutation_importance",
    "PlanSaving": "results.plans",
    "Plot": "results.plots",
    "PredictionComparison": "results.predictions",
    "Predictions": "results.predictions",
    "Progress": "progress",
    "RankingComparison": "results.comparisons",
    "Receipt": "results.provenance",
    "Reference": "requests.references",
    "RemainingQuota": "results.plans",
    "RemoteInput": "remote_models",
    "RemoteModel": "remote_models",
    "RemoteModelReceipt": "results.origins",
    "RowsUsed": "results.origins",
    "Source": "results.origins",
    "StatisticDifference": "results.comparisons",
    "Swarm": "requests.options.swarm",
    "SwarmEffect": "results.swarm",
    "SwarmResult": "results.swarm",
    "TableDescription": "results.table_descriptions",
    "TableRef": "transport.uploads",
    "TableUris": "uris",
    "UnmatchedStatistic": "results.comparisons",
    "connect": "client",
    "connect_async": "async_client",
    "export": "exporting",
    "load": "results.explanations",
    "local": "in_process",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name."""
    if name not in _MODULES:
        raise AttributeError(f"module 'onnxplain' has no attribute {name!r}")
    return getattr(import_module(f"onnxplain.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
