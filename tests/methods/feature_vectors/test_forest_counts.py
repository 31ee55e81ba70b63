"""Forests that were grown before are not grown again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.arrays import Matrix
from onnxplain_server.methods.feature_vectors import (
    Growth,
    Options,
    Rule,
    TrainingData,
    from_training_data,
)
from onnxplain_server.methods.feature_vectors.options import Knockoffs, PathSource

pytestmark = pytest.mark.usefixtures("few_trees")

VALUES = np.random.default_rng(0).normal(size=(120, 3))
OPTIONS = Options(
    PathSource.LABELS, ("a", "b", "c"), growth=Growth(200, depth=3), repeat_count=2,
    knockoffs=Knockoffs(100, component_count=1),
)  # fmt: skip


def lesson(columns: np.ndarray = VALUES, **changed) -> TrainingData:
    target = VALUES[:, :1] * VALUES[:, 1:2]
    return replace(
        TrainingData(tuple(columns.T), None, target, is_classes=False, weights=np.ones(120)),
        **changed,
    )


class Kept:
    """Numbers by the question that they answer."""

    def __init__(self) -> None:
        self.known: dict[bytes, Matrix] = {}

    def __call__(
        self, question: bytes, shape: tuple[int, ...], compute: Callable[[], Matrix]
    ) -> Matrix:
        if question not in self.known:
            self.known[question] = compute()
        assert self.known[question].shape == shape
        return self.known[question]


def test_asked_again_no_forest_is_grown_and_the_answer_is_the_same(run) -> None:
    """Known are a depth, the forest, two repetitions, pairs of splits of all three, and the forest
    with knockoffs.
    """
    keep = Kept()

    first = from_training_data(OPTIONS, lesson(), 0, run, keep)
    known = set(keep.known)
    again = from_training_data(OPTIONS, lesson(), 0, run, keep)
    without = from_training_data(OPTIONS, lesson(), 0, run)

    assert len(known) == 8
    assert set(keep.known) == known
    for found in (again, without):
        assert np.array_equal(found.embedding.vectors, first.embedding.vectors)
        assert (found.sentence_count, found.tree_count) == (first.sentence_count, first.tree_count)
        assert found.fit == first.fit
        assert found.knockoff_check is not None
        assert first.knockoff_check is not None
        assert found.knockoff_check.p_value == first.knockoff_check.p_value


def test_what_is_only_read_off_needs_no_other_forest(run) -> None:
    keep = Kept()
    from_training_data(OPTIONS, lesson(), 0, run, keep)

    from_training_data(
        replace(OPTIONS, dimension_count=3, include_cooccurrence=True), lesson(), 0, run, keep
    )

    assert len(keep.known) == 8


@pytest.mark.parametrize(
    ("options", "changed", "seed"),
    [
        pytest.param(OPTIONS, {}, 1, id="seed"),
        pytest.param(replace(OPTIONS, rule=Rule(window=2)), {}, 0, id="window"),
        pytest.param(replace(OPTIONS, growth=Growth(300, depth=3)), {}, 0, id="sentences"),
        pytest.param(replace(OPTIONS, growth=Growth(200, depth=4)), {}, 0, id="depth"),
        pytest.param(OPTIONS, {"columns": VALUES + 1.0 * (VALUES[7] == VALUES)}, 0, id="a value"),
        pytest.param(OPTIONS, {"target": VALUES[:, 2:]}, 0, id="target"),
        pytest.param(OPTIONS, {"weights": 1.0 + (np.arange(120) == 7)}, 0, id="a weight"),
        pytest.param(OPTIONS, {"selected": tuple(VALUES[:5].T)}, 0, id="rows asked for"),
    ],
)
def test_other_forests_are_other_questions(
    run, options: Options, changed: dict[str, Any], seed: int
) -> None:
    keep = Kept()
    from_training_data(replace(OPTIONS, repeat_count=0, knockoffs=None), lesson(), 0, run, keep)
    known = len(keep.known)

    from_training_data(
        replace(options, repeat_count=0, knockoffs=None), lesson(**changed), seed, run, keep
    )

    assert len(keep.known) > known


def test_rows_asked_for_are_told_from_one_another(run) -> None:
    keep = Kept()
    plain = replace(OPTIONS, repeat_count=0, knockoffs=None)

    for rows in (VALUES[:5], VALUES[5:10]):
        from_training_data(plain, lesson(selected=tuple(rows.T)), 0, run, keep)

    assert len(keep.known) == 6


def test_counts_of_very_many_features_are_not_kept(run) -> None:
    wide = np.random.default_rng(0).normal(size=(120, 300))
    options = Options(PathSource.LABELS, tuple(f"x{j}" for j in range(300)), growth=Growth(100, 3))
    keep = Kept()

    from_training_data(options, lesson(wide), 0, run, keep)

    assert len(keep.known) == 1, "the depth"


def test_outputs_count_alike_whatever_their_units(run) -> None:
    """A constant one tells nothing, and is left aside."""
    plain = replace(OPTIONS, repeat_count=0, knockoffs=None)
    units = np.array([1.0, 1_000.0, 1.0])
    target = np.column_stack([VALUES[:, 0] + VALUES[:, 1], VALUES[:, 2], np.full(120, 7.0)])

    once, scaled = (
        from_training_data(plain, lesson(target=each), 0, run) for each in (target, target * units)
    )

    assert scaled.embedding.vectors == pytest.approx(once.embedding.vectors)
