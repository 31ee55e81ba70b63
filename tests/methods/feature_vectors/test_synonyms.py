"""Figure 2 of the paper: features that could stand in for each other, though independent."""

import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

STUDY = Path(__file__).parents[3] / "bench/accuracy/synonyms.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("synonyms", STUDY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["synonyms"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def table(study):
    return study.weak_effects(seed=2)


@pytest.mark.slow
def test_each_pair_is_nearer_than_any_features_of_different_pairs(study, table) -> None:
    with ThreadPoolExecutor(2) as pool:
        result = study.feature_vectors(table, 2_000, 2, 0, lambda f, parts: [*pool.map(f, parts)])

    told = study.found(result.embedding.vectors)
    assert told.holds
    assert max(told.within) < 15 < told.across
    assert result.norms[:6].min() > 2 * result.norms[6:].max(), "the others tell nothing"


@pytest.mark.parametrize("baseline", ["by_covariance", "by_point_biserial"])
def test_what_looks_at_columns_alone_finds_no_pairs(study, table, baseline: str) -> None:
    assert not study.found(getattr(study, baseline)(table)).holds


def test_the_columns_are_independent_and_tell_next_to_nothing_alone(table) -> None:
    correlations = np.corrcoef(table.values, table.target, rowvar=False)

    assert np.abs(correlations - np.eye(21)).max() < 0.06
    assert table.target.mean() == pytest.approx(0.5, abs=0.02)
