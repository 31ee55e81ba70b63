"""Check of an additive model against predictions, and of the table's values for its terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.model import AdditiveModel
from onnxplain_server.additive.pair_terms import MOST_CELLS, PairTables
from onnxplain_server.additive.terms import BLOCK_NUMBERS
from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Model
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.effects.background import Background, distinct
from onnxplain_server.trees.reading.check import compare_with_made, first_difference, permuted
from onnxplain_server.trees.reading.refusal import Refusal

_CHECKED_AT_ONCE = 1 << 14
"""Values of a feature whose kinds are counted at once."""


def refuse_not_finite(additive: AdditiveModel | KernelModel, features: Features) -> Refusal | None:
    """Refuse rows of which a term is no finite number, because sums cannot be taken apart then.

    Whatever its coefficient is: 0 times a value that is missing or infinite is no number.
    """
    columns, is_squared = features.cast_columns(), isinstance(additive, KernelModel)
    step = max(1, BLOCK_NUMBERS // max(len(additive.features), 1))
    for start in range(0, features.n_rows, step):
        values = additive.front(feeds(features, [own[start : start + step] for own in columns]))
        largest = np.sqrt(np.finfo(np.float64).max) / 2 if is_squared else np.finfo(np.float64).max
        wrong = np.flatnonzero(~(np.abs(values) <= largest).all(axis=0))
        if len(wrong):
            name = _term_name(additive, features, wrong[0])
            return Refusal(f"its term of {name} is not finite in some rows")
    return None


def _term_name(additive: AdditiveModel | KernelModel, features: Features, value: int) -> str:
    """Name the features of a value."""
    places = [additive.features[value]]
    if isinstance(additive, AdditiveModel):
        places.append(additive.partners[value])
    return " and ".join(repr(features.names[j]) for j in places if j >= 0)


def refuse_many_cells(tables: PairTables, features: Features) -> Refusal | None:
    """Refuse terms of two features that take too many combinations of values."""
    columns = features.cast_columns() if tables.features else ()
    for j in sorted(tables.features):
        values = distinct(columns[j])[0]
        for start in range(0, len(values), _CHECKED_AT_ONCE):
            tables.kinds(j, values[start : start + _CHECKED_AT_ONCE])
            if tables.cell_count > MOST_CELLS:
                return Refusal("its terms of two features take too many combinations of values")
    return None


def check_terms(additive: AdditiveModel, model: Model, background: Background) -> Refusal | None:
    """Compare an additive model with the model's predictions.

    Parameters
    ----------
    background : Background
        Rows of the table; as many are made of their values, each column in another order.

    Returns
    -------
    Refusal or None
        The refusal names what differs.
    """
    features, columns = background.features, background.columns
    compare = partial(_disagreement, additive, model, features)
    return compare_with_made(compare, columns, lambda: permuted(columns))


def _disagreement(
    additive: AdditiveModel, model: Model, features: Features, columns: Sequence[Array]
) -> Refusal | None:
    """Compare what terms and model say of some rows."""
    rows = feeds(features, columns)
    values, predicted = additive.front(rows), model.predict(rows).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # such a sum disagrees
        sums = values @ additive.sums.matrix.T + additive.sums.offset
        allowed = additive.errors(values, sums, _rounding(model.roundings))
        return first_difference(additive.outputs(sums), predicted, allowed, "its terms add up to")


def _rounding(roundings: Vector) -> float:
    return float(roundings.max(initial=2.0**-53))
