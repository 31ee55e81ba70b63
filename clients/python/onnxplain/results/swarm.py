"""Results of `Swarm`: the weight at which each feature breaks the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results.origins import ClassPairing, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular, read_result
from onnxplain.v1 import explanation_service_pb2, swarm_pb2
from onnxplain.v1.swarm_pb2 import SwarmOptions

_SCHEMA = pa.schema(
    [
        ("class_name", pa.string()),
        ("feature", pa.string()),
        ("row_index", pa.int64()),
        ("importance", pa.float64()),
        ("best_weight", pa.float64()),
        ("best_score", pa.float64()),
        ("mean_weight_distance", pa.float64()),
        ("mean_score_drop", pa.float64()),
        ("stable_weight", pa.float64()),
        ("stable_score", pa.float64()),
        ("agreement", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class SwarmEffect:
    """Effect of moving one feature in the rows of one class.

    Attributes
    ----------
    class_name : str
        Empty without classes.
    feature : str
    row_index : int or None
        Row that is explained by itself.
    row_count : int
        Rows that are moved.
    importance : float
        Largest for the feature that does most harm, and among ties for the one moved least. Score
        times weight: in [0, weight_limit]; for a loss without a limit.
    best_weight, best_score : float
        The weight that does most harm, closest to no change, and the score with it.
    mean_weight_distance, mean_score_drop : float
        σ_w and σ_s of the paper.
    stable_weight, stable_score : float
        The best optimum that is not a sliver; NaN where there is none, or the search is not EXACT.
    range : (2,)
        First and last weight with the best score; NaN where the search is not EXACT.
    outside_share : float
        Share of the rows moved whose values `best_weight` takes out of the observed range.
    agreement : float
        Share of the searches that did as much harm as the best one; NaN for EXACT.
    weights, scores : (n,)
        Score by weight: piecewise for EXACT, otherwise at the weights tried.
    class_shares : (n, n_classes)
        Shares of the rows predicted as each class.
    window_scores, window_class_shares : (n_windows,), (n_windows, n_classes)
        The same, averaged in windows; NaN in empty ones.
    class_similarities : (n_classes,)
        How much of the class is taken for each class, over all weights.
    """

    class_name: str
    feature: str
    row_index: int | None
    row_count: int
    importance: float
    best_weight: float
    best_score: float
    mean_weight_distance: float
    mean_score_drop: float
    stable_weight: float
    stable_score: float
    range: npt.NDArray[np.float64]
    outside_share: float
    agreement: float
    weights: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    class_shares: npt.NDArray[np.float64]
    window_scores: npt.NDArray[np.float64]
    window_class_shares: npt.NDArray[np.float64]
    class_similarities: npt.NDArray[np.float64]

    @classmethod
    def from_message(cls, message: swarm_pb2.SwarmEffect) -> SwarmEffect:
        """Read the message of the contract."""
        stable, best = message.stable_optimum, message.optimum
        has_stable, has_best = (message.HasField(n) for n in ("stable_optimum", "optimum"))
        classes = len(message.class_similarities)
        curve, windows = message.curve, message.windows
        return read(
            cls,
            message,
            row_index=message.row_index if message.HasField("row_index") else None,
            stable_weight=stable.weight if has_stable else np.nan,
            stable_score=stable.score if has_stable else np.nan,
            range=np.array([best.low, best.high] if has_best else [np.nan, np.nan]),
            outside_share=message.reach.outside_share,
            agreement=message.agreement if message.HasField("agreement") else np.nan,
            weights=np.array(curve.weights),
            scores=np.array(curve.scores),
            class_shares=_table(curve.class_shares, len(curve.weights), classes),
            window_scores=np.array(windows.scores),
            window_class_shares=_table(windows.class_shares, len(windows.scores), classes),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SwarmResult(Tabular):
    """Effects by class and feature, with importances over all classes.

    Attributes
    ----------
    class_names : tuple of str
        Of all outputs; empty without classes.
    features : tuple of str
    effects : tuple of SwarmEffect
        The features of the first class, then those of the next.
    baseline_score : float
        Score, or average loss, of the predictions as they are.
    importances, relative_importances : (n_features,)
        Sums over classes: as they are, and with each class's divided by its largest.
    similarity : (n_classes, n_classes)
        How much of a class (row) is taken for another (column) while its features are moved;
        empty without classes, or with `row_indices`.
    window_borders : (n_windows + 1,)
    plots : tuple of Plot
    options : SwarmOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : SwarmResult
        As the server sent it.
    class_pairings : tuple of ClassPairing
        Classes of the target, and the outputs they were compared with; empty without classes.

    Examples
    --------
    >>> frame = explanations.swarm.to_pandas()
    >>> frame.sort_values("importance", ascending=False)
    """

    class_names: tuple[str, ...]
    features: tuple[str, ...]
    effects: tuple[SwarmEffect, ...]
    baseline_score: float
    importances: npt.NDArray[np.float64]
    relative_importances: npt.NDArray[np.float64]
    similarity: npt.NDArray[np.float64]
    window_borders: npt.NDArray[np.float64]
    plots: tuple[Plot, ...]
    options: SwarmOptions
    rows: RowsUsed | None
    message: swarm_pb2.SwarmResult = field(repr=False)
    class_pairings: tuple[ClassPairing, ...] = ()

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> SwarmResult:
        """Read the message of the contract."""
        result = message.swarm
        size = len(result.class_names) if len(result.similarity) else 0
        return read_result(
            cls,
            message,
            effects=tuple(SwarmEffect.from_message(effect) for effect in result.effects),
            importances=np.array([i.value for i in result.importances]),
            relative_importances=np.array([i.relative_value for i in result.importances]),
            similarity=_table(result.similarity, size, size),
        )

    def effect(self, class_name: str, feature: str) -> SwarmEffect:
        """Return the effect of a feature in the rows of a class; LookupError if there is none.

        Examples
        --------
        >>> explanation.swarm.effect("versicolor", "petal width (cm)").best_weight
        """
        for effect in self.effects:
            if (effect.class_name, effect.feature) == (class_name, feature):
                return effect
        raise LookupError(f"no effect of {feature!r} in the rows of class {class_name!r}")

    def to_arrow(self) -> pa.Table:
        """Return one row per class and feature.

        Returns
        -------
        pyarrow.Table
            Columns `class_name`, `feature`, `row_index`, `importance`, `best_weight`,
            `best_score`, `mean_weight_distance`, `mean_score_drop`, `stable_weight`,
            `stable_score`, `agreement`.
        """
        rows = [{name: getattr(effect, name) for name in _SCHEMA.names} for effect in self.effects]
        return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _table(values: Sequence[float], rows: int, columns: int) -> npt.NDArray[np.float64]:
    return np.array(values, dtype=np.float64).reshape(rows, columns)
