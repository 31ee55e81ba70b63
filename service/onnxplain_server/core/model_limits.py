"""Limits for models, of complexity and of time: settings of a server, which its workers obey."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Complexity limits for models.

    Attributes
    ----------
    node_count : int
        Nodes in all graphs together. Load time grows with their square: 4 s for 2,000.
    output_count : int
        Outputs of the model; each may have many columns.
    graph_depth : int
        Nesting of subgraphs in branches and loops; the main graph is level 1.
    tree_depth : int
        Levels of a tree. onnxruntime recurses, and crashed beyond 10,000.
    target_count : int
        Output columns that a tree ensemble may declare.
    tensor_count : int
        Initializers in all graphs together; two million empty ones, 4 MB, crash the runtime.
    """

    node_count: int = 2_000
    output_count: int = 64
    graph_depth: int = 8
    tree_depth: int = 1_024
    target_count: int = 10_000
    tensor_count: int = 20_000


DEFAULT_LIMITS = ModelLimits()

SURROGATE_SECONDS = 60.0
"""Time of predictions beyond which interactions are estimated, by default."""
