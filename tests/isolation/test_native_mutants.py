"""Broken native tree files are refused by a reason, or predict what their trees say."""

import os
from collections import Counter

import numpy as np
import pytest
from hostile import native_mutants, walked_trees
from onnxplain_server.adapters.native.readers import read_forest
from onnxplain_server.adapters.onnx import UntriedModelError, load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import DEFAULT_LIMITS

COUNT = int(os.environ.get("TEST_NATIVE_MUTANTS", "300"))
REASONS = {Reason.INVALID_MODEL, Reason.UNSUPPORTED_MODEL, Reason.MODEL_TOO_COMPLEX}


@pytest.mark.parametrize("library", sorted({file.parts[-3] for file in native_mutants.FILES}))
def test_mutants_are_refused_or_predict_what_their_trees_say(library):
    outcomes: Counter[str] = Counter()
    for seed in range(COUNT):
        name, content = native_mutants.mutant(seed, library)
        outcomes[outcome(name, content)] += 1

    print(dict(outcomes))  # noqa: T201 - shown by the campaign
    assert min(outcomes["predicts"], outcomes["INVALID_MODEL"]) > COUNT / 20


def outcome(name: str, content: bytes) -> str:
    forest, model, refusal = read(content)
    if refusal is not None:
        assert refusal.reason in REASONS, (name, refusal.message)
        assert len(refusal.message) < 1_000, name
        return str(refusal.reason.name)
    if forest is None or model is None:
        return "another kind"
    compare(name, forest, model)
    return "predicts"


def read(content: bytes):
    try:
        return read_forest(content, DEFAULT_LIMITS), load(content), None
    except UntriedModelError:
        return None, None, None
    except ExplainError as refusal:
        return None, None, refusal


def compare(name, forest, model):
    rows = np.random.default_rng(0).normal(size=(5, len(forest.features)))
    rows = rows.astype(np.float64 if forest.is_double else np.float32)
    for place, feature in enumerate(forest.features):
        if feature.categories is not None:
            rows[:, place] = np.abs(rows[:, place] * 3).astype(int) % len(feature.categories)
    with np.errstate(over="ignore"):
        expected = walked_trees.predict(forest, rows).astype(np.float32)
    scale = 1 + np.abs(forest.leaves.values).max() + np.abs(forest.base).max()

    actual = model.predict(feeds(forest, model.inputs, rows))

    assert actual == pytest.approx(expected, rel=1e-5, abs=1e-6 * scale, nan_ok=True), name


def feeds(forest, inputs, rows):
    """Feed a matrix, or columns, which have values of categories in place of codes."""
    if len(inputs) == 1:
        return {inputs[0].name: rows}
    columns = {}
    for place, (given, feature) in enumerate(zip(inputs, forest.features, strict=True)):
        columns[given.name] = rows[:, [place]]
        if feature.categories is not None:
            kind = object if feature.has_texts else np.float32  # of numbers, in any model
            values = [feature.categories[int(code)] for code in rows[:, place]]
            columns[given.name] = np.array(values, dtype=kind).reshape(-1, 1)
    return columns
