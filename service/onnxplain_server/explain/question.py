"""The question of a request: methods with their options, columns, scale, engine and seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from onnxplain_server.core.contract_limits import ExplainRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Scale
from onnxplain_server.core.table import listed
from onnxplain_server.methods.registry import Options

Engine: TypeAlias = ExplainRequest.Engine
"""Engine that computes the effects."""


@dataclass(frozen=True, slots=True)
class Question:
    """`ExplainRequest` of the contract, without model and table.

    Attributes
    ----------
    feature_columns, output_indices : tuple
        Empty for the default.
    input_columns : tuple of (str, tuple of str)
        Columns by the model's inputs, in place of `feature_columns`; empty for these.
    outputs : tuple of str
        Names of outputs, in place of `output_indices`.
    row_count : int or None
        None: the default of each method.
    methods : tuple of Options
        Empty for an overview.
    class_labels : tuple of str
        Labels of the target's classes, in the order of the model's outputs; empty: classes and
        outputs are paired by equal names.
    prediction : tuple of str
        Expressions over the model's outputs, which are explained in their place; empty for the
        outputs themselves.
    is_scale_asked : bool
        Whether the request names `scale`; else the methods and the model choose: `choose_scale`.
    has_margin : bool
        Whether the model has a margin, once it is loaded: its response is then a probability.
    budget_seconds : float or None
        Time of the request; None: the default for an overview, no limit for methods.
    budget_predicted_row_count : float or None
        Rows that the methods may predict; None: no limit.
    model_name : str
        Name of the model in titles; may be empty.
    target_columns : tuple of str
        Several columns with true values, in place of `target_column`.
    expected_prediction_columns : tuple of str
        Columns with predictions of the training library; empty: nothing is compared.
    cluster_column : str
        Column of the clusters that replicates draw; empty: they draw single rows.
    """

    methods: tuple[Options, ...]
    feature_columns: tuple[str, ...] = ()
    input_columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    target_column: str = ""
    weight_column: str = ""
    output_indices: tuple[int, ...] = ()
    outputs: tuple[str, ...] = ()
    scale: Scale = Scale.RESPONSE
    is_scale_asked: bool = False
    has_margin: bool = False
    engine: Engine | None = None
    row_count: int | None = None
    seed: int = 0
    class_labels: tuple[str, ...] = ()
    plots: bool = True
    prediction: tuple[str, ...] = ()
    budget_seconds: float | None = None
    budget_predicted_row_count: float | None = None
    model_name: str = ""
    target_columns: tuple[str, ...] = ()
    expected_prediction_columns: tuple[str, ...] = ()
    cluster_column: str = ""

    @property
    def targets(self) -> tuple[str, ...]:
        """Columns with true values: none, one, or several."""
        return self.target_columns or tuple(filter(None, [self.target_column]))

    @property
    def non_features(self) -> tuple[str, ...]:
        """Columns that are no features: targets, weight, expected predictions and clusters."""
        others = filter(None, [self.weight_column, self.cluster_column])
        return (*self.targets, *others, *self.expected_prediction_columns)

    @property
    def target_field(self) -> str:
        """Name of the field that names the targets."""
        return "target_columns" if self.target_columns else "target_column"

    def only_target(self, reader: str) -> str:
        """Return the target; empty without one.

        Parameters
        ----------
        reader : str
            What reads it, as the beginning of a sentence.

        Raises
        ------
        ExplainError
            INVALID_OPTION for several.
        """
        if len(self.targets) > 1:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"{reader} reads one target, and there are {len(self.targets)}, "
                f"{listed(self.targets)}; name one in target_column",
                "target_columns",
            )
        return self.targets[0] if self.targets else ""
