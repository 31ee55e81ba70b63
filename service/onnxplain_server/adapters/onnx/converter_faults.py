"""Known faults of converters, as far as a graph shows that it may have one."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.adapters.onnx.analysis.isotonic import interpolated
from onnxplain_server.adapters.onnx.read import parse
from onnxplain_server.adapters.onnx.trial_rows import known_texts
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.trees.reading.onnx_nodes import TREE_OPERATORS, Attributes, nodes_within

_CONVERTER = "skl2onnx"


@dataclass(frozen=True, slots=True)
class ConverterFaults:
    """Marks of a converter in a graph; sentences about its faults may be empty.

    Attributes
    ----------
    texts : frozenset of str
        Texts that the graph compares values with: categories of its encoders.
    of_missing : str
        Fault that changes predictions of rows with missing values.
    of_thresholds : str
        Fault that changes predictions of values at a threshold.
    repaired : bytes
        The model without a fault; empty where it has none that can be repaired.
    of_repaired : str
        That fault.
    """

    texts: frozenset[str]
    of_missing: str
    of_thresholds: str
    repaired: bytes
    of_repaired: str


def converter_faults(content: bytes, limits: ModelLimits) -> ConverterFaults:
    """Read what is known of a model that was loaded before."""
    model = parse(content, limits).model
    texts = frozenset(known_texts(model))
    if model.producer_name != _CONVERTER:
        return ConverterFaults(texts, "", "", b"", "")
    writer = f"{_CONVERTER} {model.producer_version}".strip()
    trees = [node for node in nodes_within(model.graph) if node.op_type in TREE_OPERATORS]
    tracks = [Attributes(node).integers("nodes_missing_value_tracks_true").any() for node in trees]
    of_missing = of_thresholds = ""
    if trees and not any(tracks):
        of_missing = (
            f"{writer} does not write where trees and forests of scikit-learn send missing values, "
            "a known fault (issue 1253 of sklearn-onnx): fill them before the model, or train "
            "histogram boosting."
        )
    if any(tracks):
        of_thresholds = (
            f"{writer} rounds thresholds of histogram boosting to the nearest float32, a known "
            "fault (issue 1192 of sklearn-onnx)."
        )
    lines = interpolated(model)
    if lines is None:
        return ConverterFaults(texts, of_missing, of_thresholds, b"", "")
    of_repaired = (
        f"{writer} writes isotonic calibration as steps to the nearest point of its curve, where "
        "scikit-learn draws lines between the points, a known fault (issue 1151 of sklearn-onnx): "
        "with lines, the model predicts as expected. Calibrate by method='sigmoid'."
    )
    return ConverterFaults(texts, of_missing, of_thresholds, lines.SerializeToString(), of_repaired)
