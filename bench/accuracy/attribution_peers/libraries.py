"""Values and interactions of onnxplain, shap, WOODELF and shapiq: (n_rows, n_values) each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnxplain
import pandas as pd
import shap
import shapiq  # type: ignore[import-untyped,import-not-found,unused-ignore]
from onnx import ModelProto
from sklearn.ensemble import RandomForestClassifier
from woodelf import WoodelfExplainer
from woodelf.core.trees.parse_models import load_decision_tree_ensemble_model

from bench.accuracy.attribution_peers.judge import Rows, Vector


@dataclass(frozen=True)
class Question:
    """A model, the rows to explain, and the background.

    The background is None where a library takes the shares of branches that it counted in training.
    """

    model: Any
    rows: pd.DataFrame
    background: pd.DataFrame | None

    @property
    def output(self) -> int | None:
        """Output of a model that has several, else None."""
        return 1 if isinstance(self.model, RandomForestClassifier) else None


Answer = Callable[[Question], Vector]


def by_shap(question: Question, order: int) -> Vector:
    """Call TreeExplainer of shap; a pair is twice a cell of the matrix."""
    few, perturbation = question.background, "tree_path_dependent"
    if few is not None:
        few, perturbation = shap.maskers.Independent(few, max_samples=len(few)), "interventional"
    explainer = shap.TreeExplainer(question.model, few, feature_perturbation=perturbation)
    ask = explainer.shap_values if order == 1 else explainer.shap_interaction_values
    values = np.asarray(ask(question.rows))
    values = values if question.output is None else values[..., question.output]
    return values if order == 1 else 2 * _pairs(values)


def by_woodelf(question: Question, order: int) -> Vector:
    """Call WOODELF; a pair is twice a cell of the matrix."""
    doubles = question.rows.astype(np.float64)
    background = question.background
    loaded = load_decision_tree_ensemble_model(question.model, list(doubles), question.output or 0)
    explainer = WoodelfExplainer(
        loaded, None if background is None else background.astype(np.float64)
    )
    if order == 1:
        return np.asarray(explainer.shap_values(doubles, verbose=False))
    return 2 * _pairs(np.asarray(explainer.shap_interaction_values(doubles, verbose=False)))


def by_shapiq(question: Question, order: int) -> Vector:
    """Call TreeExplainer of shapiq, row by row: path-dependent values alone."""
    if question.background is not None:
        raise TypeError("its trees take no background")
    # Else it refuses XGBoost: it puts numbers into a column of texts, which pandas 3 forbids.
    with pd.option_context("future.infer_string", False):
        explainer = shapiq.TreeExplainer(
            question.model, max_order=order, index="SII", class_index=question.output
        )
    rows = question.rows.to_numpy(np.float64)
    values = np.array([explainer.explain(row).get_n_order_values(order) for row in rows])
    return values if order == 1 else _pairs(values)


LIBRARIES: Mapping[str, Callable[[Question, int], Vector]] = {
    "shap": by_shap,
    "WOODELF": by_woodelf,
    "shapiq": by_shapiq,
}


def asked(library: str, question: Question, order: int) -> Vector | str:
    """Ask a library: its values, or its refusal as a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return LIBRARIES[library](question, order)
        except Exception as error:  # noqa: BLE001 - each library raises what it likes
            return f"refused: {str(error).strip().partition(chr(10))[0][:90]}"


def ours(
    client: onnxplain.Client,
    model: ModelProto,
    table: pd.DataFrame,
    *,
    explained: Sequence[int],
    background: Sequence[int],
    perturbation: Literal["INTERVENTIONAL", "PATH_DEPENDENT"],
    scale: Literal["RESPONSE", "MARGIN"] = "RESPONSE",
) -> tuple[Vector, Vector]:
    """Ask onnxplain for values and interactions of the model's last output."""
    options = onnxplain.Attributions(
        row_indices=explained,
        background_row_indices=background,
        perturbation=perturbation,
        order=2,
    )
    result = client.explain(
        model.SerializeToString(), table, options, plots=False, progress=False, scale=scale
    ).attributions
    assert result is not None  # noqa: S101 - it was asked
    if result.standard_errors is not None:
        raise ValueError("values are estimated; the comparison wants exact ones")
    assert result.interactions is not None  # noqa: S101 - of order 2
    return result.values[..., -1], result.interactions[..., -1]


def _pairs(matrices: Rows) -> Vector:
    """Return the cells above the diagonal: (n_rows, n, n) -> (n_rows, n_pairs)."""
    above = np.triu_indices(matrices.shape[-1], 1)
    return np.asarray(matrices[:, above[0], above[1]])
