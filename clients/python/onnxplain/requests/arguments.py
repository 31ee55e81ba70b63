"""Arguments of a call -> the contract's ExplainRequest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from onnxplain.requests.methods import Method
from onnxplain.requests.models import to_model
from onnxplain.tables import to_table
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

Scale: TypeAlias = Literal["RESPONSE", "MARGIN"]
"""The model's answer, or the additive score before it."""

Engine: TypeAlias = Literal["TREES", "BLACK_BOX"]
"""What computes the effects."""


class RequestOptions(TypedDict, total=False):
    """Keywords of `Client.explain` that are about the request; it says what they mean."""

    feature_columns: Sequence[str]
    target_column: str
    weight_column: str
    output_indices: Sequence[int]
    scale: Scale | None
    engine: Engine | None
    row_count: int | None
    seed: int | None
    class_labels: Sequence[str | float]
    plots: bool
    allow_inconsistent_model: bool


def to_request(
    model: Any,
    table: Any,
    *methods: Method,
    feature_columns: Sequence[str] = (),
    target_column: str = "",
    weight_column: str = "",
    output_indices: Sequence[int] = (),
    scale: Scale | None = None,
    engine: Engine | None = None,
    row_count: int | None = None,
    seed: int | None = None,
    class_labels: Sequence[str | float] = (),
    plots: bool = True,
    allow_inconsistent_model: bool = False,
) -> ExplainRequest:
    """Write a request; see `Client.explain` for the arguments."""
    if isinstance(feature_columns, str):
        raise TypeError(f"feature_columns must be a list; for one column, [{feature_columns!r}]")
    if isinstance(class_labels, str):
        raise TypeError(f"class_labels must be a list of all labels, not {class_labels!r}")
    return ExplainRequest(
        model=None if model is None else to_model(model),
        table=None if table is None else to_table(table, feature_columns),
        feature_columns=feature_columns,
        target_column=target_column,
        weight_column=weight_column,
        output_indices=output_indices,
        scale=scale,
        engine=engine,
        row_count=row_count,
        seed=seed,
        methods=[method.to_message() for method in methods],
        class_labels=[str(label) for label in class_labels],
        plots=plots,
        allow_inconsistent_model=allow_inconsistent_model,
    )
