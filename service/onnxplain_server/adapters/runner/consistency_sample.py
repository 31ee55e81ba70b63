"""Rows of a table that a model's consistency is checked on."""

from __future__ import annotations

import numpy as np

from onnxplain_server.effects.background import Background, merge
from onnxplain_server.explain import BoundTable

_ROW_COUNT = 16
"""Rows, each evaluated alone and among the others."""


def consistency_sample(table: BoundTable) -> Background:
    """Return rows at equal distances, equal ones merged.

    Raises
    ------
    ExplainError
        Where explaining the table raises the same error, with its field.
    """
    weighted = table.weighted
    last = weighted.table.n_rows - 1
    positions = np.unique(np.linspace(0, last, _ROW_COUNT).astype(np.intp))
    source = weighted.table.as_sent(positions)
    return merge(table.features.take(positions), np.ones(len(positions)), source)
