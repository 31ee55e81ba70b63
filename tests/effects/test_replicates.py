"""Effects under several weights at once equal the effects of tables with each of them."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest


def rough(x, y, z, _w=None):
    return x * y + np.sin(z) * x + np.maximum(y, z)


@pytest.fixture
def columns() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.normal(size=23).round(1),
        "y": rng.integers(0, 3, 23).astype(float),
        "z": rng.normal(size=23),
    }


@pytest.fixture
def weights():
    """Some rows do not count at all, as in a bootstrap."""
    rng = np.random.default_rng(1)
    return rng.multinomial(23, np.full(23, 1 / 23), 5) * rng.uniform(0.5, 2, 23)


def test_each_replicate_equals_a_table_with_its_weights(
    make, columns: dict[str, Any], weights
) -> None:
    groups = list(combinations(range(3), 2))
    together = make.engine(rough, columns).effects
    singles = list(together.single(range(3), weights))
    pairs = list(together.joint(groups, weights))

    for replicate, given in enumerate(weights):
        alone = make.engine(rough, columns, weights=given)
        kept = given > 0
        for ours, theirs in zip(singles, alone.effects.single(range(3)), strict=True):
            np.testing.assert_allclose(ours.own[replicate][kept], theirs.own, rtol=1e-12)
            np.testing.assert_allclose(ours.others[replicate][kept], theirs.others, rtol=1e-12)
        for both, their_pair in zip(pairs, alone.effects.joint(groups), strict=True):
            np.testing.assert_allclose(
                both.pure[replicate][kept], their_pair.pure, rtol=1e-9, atol=1e-12
            )


def test_replicates_of_features_with_few_values_equal_tables_with_their_weights_too(
    make, weights
) -> None:
    columns = {name: np.arange(23) // step % 3 for step, name in enumerate("xyz", 1)}
    groups = list(combinations(range(3), 2))
    together = make.engine(rough, columns | {"w": np.arange(23)})
    together.effects.outputs()

    def effects(built, *given):
        singles = list(built.effects.single(range(3), *given))
        pairs = list(built.effects.joint(groups, *given))
        triples = list(built.effects.joint([(0, 1, 2)], *given))
        return (
            [s.own for s in singles]
            + [s.others for s in singles]
            + [j.pure for j in (*pairs, *triples)]
        )

    replicates = effects(together, weights)
    for replicate, given in enumerate(weights):
        alone = effects(make.engine(rough, columns | {"w": np.arange(23)}, weights=given))
        for ours, theirs in zip(replicates, alone, strict=True):
            np.testing.assert_allclose(ours[replicate][given > 0], theirs, rtol=1e-9, atol=1e-12)


def test_replicates_cost_no_further_prediction(make, columns: dict[str, Any], weights) -> None:
    plain = make.engine(rough, columns)
    list(plain.effects.single(range(3)))
    resampled = make.engine(rough, columns)
    list(resampled.effects.single(range(3), weights))

    assert resampled.ledger.predicted == plain.ledger.predicted
