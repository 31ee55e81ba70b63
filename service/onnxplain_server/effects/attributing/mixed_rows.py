"""Mixed rows: predictions of rows that have some features of one row, all others of another one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.row_predictions import check_finite, describe_rows


class RowMixture(NamedTuple):
    """Rows that are mixed of two each.

    Attributes
    ----------
    own, others : (n,)
        Positions of the two among the rows explained and in the background.
    is_own : (n, n_features)
        Whether a feature is that of the row explained.
    """

    own: Indices
    others: Indices
    is_own: Array


def predict_mixed(
    predictor: Predictor, background: Background, explained: Background, mixture: RowMixture
) -> Matrix:
    """Predict mixed rows in blocks that run in parallel: (n, n_outputs)."""
    own, others, is_own = mixture
    pairs = enumerate(zip(explained.columns, background.columns, strict=True))
    columns = [np.where(is_own[:, j], one[own], two[others]) for j, (one, two) in pairs]
    starts = range(0, len(own), BatchSize.LARGEST)

    def predict(start: int) -> Matrix:
        part = [column[start : start + BatchSize.LARGEST] for column in columns]
        return predictor.predict_rows(background.features, part)

    predicted = np.concatenate(predictor.in_parallel(predict, starts))
    return check_finite(predicted, lambda rows: not_finite_mixed(explained, mixture, rows))


def not_finite_mixed(explained: Background, mixture: RowMixture, rows: Indices) -> str:
    """Tell for which rows explained predictions of mixed rows are not finite, and the remedy."""
    places = describe_rows(explained, np.unique(mixture.own[rows]))
    return (
        f"the model's prediction is not finite where features of {places} are mixed with those of "
        "the background; leave out what is odd in these or in the background, or mend the model"
    )
