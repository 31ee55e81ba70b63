"""Features of columns and scores, without a model."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from onnxplain_server.core.arrays import Array
from onnxplain_server.language import ColumnValues, parse
from onnxplain_server.methods.firm import Moments, Options, Result, ScoredRows, compute
from onnxplain_server.methods.resampling import Resampling, RowUnits

from tests.methods.firm.values import ROWS


@pytest.fixture(scope="session")
def firm() -> Callable[..., Result]:
    """Measure features; `repeats` is the number of replicates."""

    def measured(
        columns: Mapping[str, Array],
        scores,
        features: Sequence[str],
        weights=None,
        moments: Moments | None = None,
        repeats: int = 0,
        seed: int = 0,
        **options,
    ) -> Result:
        held = ColumnValues(columns)
        expressions = [parse(text, held.kinds, "features") for text in features]
        score = np.asarray(scores, dtype=float)
        score = score if score.ndim == 2 else score[:, None]
        shares = np.ones(len(score)) if weights is None else np.asarray(weights, dtype=float)
        names = tuple(f"y{k}" for k in range(score.shape[1]))
        asked = Options(resampling=Resampling(repeats), **options)
        sheet = ScoredRows(held, shares, score, names, RowUnits(np.arange(len(score))))
        return compute(expressions, sheet, asked, moments, seed, lambda f, p: list(map(f, p)))

    return measured


@pytest.fixture(scope="session")
def normal() -> dict[str, np.ndarray]:
    """X and z go along with each other at 0.8; u with neither."""
    random = np.random.default_rng(1)
    x, e, u = random.normal(size=(3, ROWS))
    return {"x": x, "z": 0.8 * x + 0.6 * e, "u": u}
