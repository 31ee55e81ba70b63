"""XGBoost's model: the learner, its booster and its objective, to a forest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, quoted, too_complex, unsupported
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import Feature, NativeForest
from onnxplain_server.adapters.native.xgboost.categories import read_values
from onnxplain_server.adapters.native.xgboost.objectives import base_values, find_objective
from onnxplain_server.adapters.native.xgboost.trees import read_trees
from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.model_limits import ModelLimits

_MOST_FEATURES = 1_000_000
"""Files only claim their number; each takes a place in memory."""


def read(document: Fields, limits: ModelLimits) -> NativeForest:
    """Read a model.

    Scores are sums of leaves in float32, as XGBoost adds them, and thresholds are float32: a value
    goes left where it is less.

    Raises
    ------
    ExplainError
        INVALID_MODEL, UNSUPPORTED_MODEL, or MODEL_TOO_COMPLEX for too many outputs.
    """
    learner, version = document.child("learner"), _version(document)
    parameters = learner.child("learner_model_param")
    count = max(parameters.integer("num_class", 0), parameters.integer("num_target", 1), 1)
    if count > limits.target_count:
        raise too_complex(count, limits.target_count, "columns in a tree ensemble")
    objective = find_objective(learner.child("objective").text("name"), count, version)
    booster = _booster(learner.child("gradient_booster"))
    used = _used_trees(booster.model, learner, count)
    trees = read_trees(booster.model, used.tree_count, booster.weights, count)
    return NativeForest(
        producer=f"XGBoost {'.'.join(map(str, version))}".strip(),
        features=_features(learner, booster.model, version),
        nodes=trees.nodes,
        leaves=trees.leaves,
        base=base_values(parameters.text("base_score"), count, objective),
        link=objective.link,
        notes=used.notes,
    )


class _Booster(NamedTuple):
    """Trees of a booster, and the weight of each tree; None where each counts once."""

    model: Fields
    weights: Vector | None


class _UsedTrees(NamedTuple):
    """Number of trees that predict, the first ones, and notes about them."""

    tree_count: int
    notes: tuple[str, ...] = ()


def _booster(booster: Fields) -> _Booster:
    name = booster.text("name")
    if name not in {"gbtree", "dart"}:
        raise unsupported(
            f"The model has the booster {quoted(name)}, which has no trees that are read. Read are "
            "gbtree and dart; export others to ONNX."
        )
    inner = booster.child("gbtree") if "gbtree" in booster else booster
    model = inner.child("model")
    owner = next((place for place in (booster, model) if "weight_drop" in place), None)
    weights = owner.numbers("weight_drop") if owner is not None else np.zeros(0)
    return _Booster(model, weights if len(weights) else None)


def _used_trees(model: Fields, learner: Fields, group_count: int) -> _UsedTrees:
    """Choose the trees that predict, of a model that stopped early.

    XGBoost's scikit-learn estimators predict by the rounds up to the best one, and Booster.predict
    by all. An attribute tells which of them saved the file.
    """
    ends = _round_ends(model, group_count)
    attributes = learner.child("attributes") if "attributes" in learner else Fields({})
    used = attributes.integer("best_iteration", len(ends), low=-1) + 1
    if not 0 < used < len(ends):
        return _UsedTrees(ends[-1] if ends else 0)
    start = f"XGBoost stopped early, after {len(ends):,} rounds of which round {used:,} was best. "
    if "scikit_learn" in attributes:
        how = f"The first {used:,} are used, as by the scikit-learn estimator that saved the file"
        return _UsedTrees(ends[used - 1], (f"{start}{how}; Booster.predict would use all.",))
    how = "All are used, as by Booster.predict. To explain the best alone, save"
    return _UsedTrees(ends[-1], (f"{start}{how} booster[:{used}].",))


def _round_ends(model: Fields, group_count: int) -> list[int]:
    """Return the number of trees after each round."""
    total = len(model.items("trees"))
    if model.child("gbtree_model_param").integer("num_trees") != total:
        raise model.fault("trees", f"has {total:,} trees, and num_trees says otherwise")
    if "iteration_indptr" in model:
        ends = model.integers("iteration_indptr")
        if len(ends) and (ends[0] != 0 or ends[-1] != total or np.any(np.diff(ends) < 0)):
            raise model.fault("iteration_indptr", f"does not rise from 0 to {total:,}")
        return list(ends[1:].tolist())
    each = group_count * model.child("gbtree_model_param").integer("num_parallel_tree", 1, low=1)
    return [*range(each, total, each), total] if total else []


def _features(learner: Fields, model: Fields, version: tuple[int, ...]) -> tuple[Feature, ...]:
    count = learner.child("learner_model_param").integer("num_feature", low=1)
    if count > _MOST_FEATURES:
        raise too_complex(count, _MOST_FEATURES, "features")
    names = learner.texts("feature_names") or ("",) * count
    if len(names) != count:
        raise invalid(f"The model has {len(names):,} feature_names for {count:,} features.")
    return tuple(map(Feature, names, read_values(model, count, version)))


def _version(document: Fields) -> tuple[int, ...]:
    """Return the version that saved the file; () where it does not tell."""
    return tuple(document.integers("version").tolist()) if "version" in document else ()
