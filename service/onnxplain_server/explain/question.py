"""What to explain."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from onnxplain_server.core.model import Scale
from onnxplain_server.methods.registry import Options


class Engine(Enum):
    """What computes the effects."""

    TREES = "TREES"
    BLACK_BOX = "BLACK_BOX"


@dataclass(frozen=True, slots=True)
class Question:
    """What to explain; see `ExplainRequest` in the contract.

    Attributes
    ----------
    feature_columns, output_indices : tuple
        Empty for the default.
    row_count : int or None
        None: as many as each method can afford.
    methods : tuple of Options
    class_labels : tuple of str
        Of the target's classes, in the order of the model's outputs; empty: paired by equality.
    """

    methods: tuple[Options, ...]
    feature_columns: tuple[str, ...] = ()
    target_column: str = ""
    weight_column: str = ""
    output_indices: tuple[int, ...] = ()
    scale: Scale = Scale.RESPONSE
    engine: Engine | None = None
    row_count: int | None = None
    seed: int = 0
    class_labels: tuple[str, ...] = ()
    plots: bool = True
