"""Which leaves rows reach."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onnxplain_server.arrays import Array
from onnxplain_server.trees.compile import kernel
from onnxplain_server.trees.ensemble import Ensemble, Numbers


def visits(ensemble: Ensemble, columns: tuple[Array, ...]) -> npt.NDArray[np.int64]:
    """Count the rows that end at each leaf: (n_leaves,).

    Parameters
    ----------
    columns : tuple of (n_rows,)
        Features, in the model's types.

    Raises
    ------
    ExplainError
        PREDICTION_FAILED for a category that the model refuses.
    """
    codes = np.stack([ensemble.codes(j, column) for j, column in enumerate(columns)], axis=1)
    counts = np.zeros(len(ensemble.feature), dtype=np.int64)
    _visit(
        ensemble.roots, ensemble.feature, ensemble.true, ensemble.false, ensemble.run_start,
        ensemble.run_low, ensemble.run_high, codes, counts,
    )  # fmt: skip
    reached: npt.NDArray[np.int64] = counts[ensemble.leaf]
    return reached


@kernel
def _visit(  # noqa: PLR0917 - compiled functions take no keywords
    roots: Numbers, feature: Numbers, true: Numbers, false: Numbers, run_start: Numbers,
    low: Numbers, high: Numbers, codes: Numbers, counts: Array,
) -> None:  # fmt: skip
    """Send each row down each tree."""
    for row in range(len(codes)):
        for root in roots:
            node = root
            while feature[node] >= 0:
                code, is_true = codes[row, feature[node]], False
                for run in range(run_start[node], run_start[node + 1]):
                    if low[run] <= code < high[run]:
                        is_true = True
                node = true[node] if is_true else false[node]
            counts[node] += 1
