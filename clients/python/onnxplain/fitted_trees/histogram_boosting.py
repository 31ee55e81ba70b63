"""HistGradientBoosting of scikit-learn: its trees, its categories and its link."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain.fitted_trees.split_trees import Floats, Ids, SplitTree

_LINKS = {
    "IdentityLink": "",
    "LogLink": "Exp",
    "LogitLink": "Sigmoid",
    "HalfLogitLink": "Sigmoid",
    "MultinomialLogit": "Softmax",
}
_WORD_BITS = 32


class Boosting(NamedTuple):
    """Fitted histogram boosting.

    Attributes
    ----------
    trees : list of SplitTree
    base : (n_targets,)
    link : str
        Operator behind the sums; empty for none.
    order : (n_features,)
        Column of the table at each position that trees compare.
    categories : list
        Values of the feature at each position, in the order of their codes; None for a number.
    """

    trees: list[SplitTree]
    base: Floats
    link: str
    order: Ids
    categories: list[list[str] | list[float] | None]


def read_boosting(model: Any) -> Boosting:
    """Read a HistGradientBoostingRegressor or HistGradientBoostingClassifier.

    Raises
    ------
    TypeError
        For a link or a category that cannot be written.
    """
    link = type(model._loss.link).__name__  # noqa: SLF001 - the only place where it stands
    if link not in _LINKS:
        raise TypeError(f"the link {link} is not known")
    order, categories = _columns(model)
    trees = [
        _tree(predictor, target)
        for iteration in model._predictors  # noqa: SLF001
        for target, predictor in enumerate(iteration)
    ]
    if any(tree.sets for tree in trees) and not any(categories):
        raise TypeError("its categories have no encoder, as before scikit-learn 1.4")
    base = np.asarray(model._baseline_prediction, np.float64).ravel()  # noqa: SLF001
    return Boosting(trees, base, _LINKS[link], order, categories)


def _columns(model: Any) -> tuple[Ids, list[list[str] | list[float] | None]]:
    """Return the order of columns behind the encoder, which has categories first."""
    encoder = getattr(model, "_preprocessor", None)
    if encoder is None:
        count = model.n_features_in_
        return np.arange(count), [None] * count
    is_categorical = np.asarray(model.is_categorical_)
    order = np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])
    known = encoder.named_transformers_["encoder"].categories_
    return order, [*map(_values, known), *[None] * int((~is_categorical).sum())]


def _values(values: Any) -> list[str] | list[float]:
    """Return categories in the order of their codes, of which a missing one is the last."""
    kept = [value for value in values.tolist() if value is not None and value == value]  # noqa: PLR0124 - NaN
    if all(isinstance(value, str) for value in kept):
        return kept
    if all(isinstance(value, int | float) for value in kept):
        return [float(value) for value in kept]
    raise TypeError("it has categories that are neither all texts nor all numbers")


def _tree(predictor: Any, target: int) -> SplitTree:
    nodes, bits = predictor.nodes, predictor.raw_left_cat_bitsets
    is_set = (nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)
    return SplitTree(
        features=nodes["feature_idx"].astype(np.int64),
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        thresholds=nodes["num_threshold"],
        missing_left=nodes["missing_go_to_left"] != 0,
        is_leaf=nodes["is_leaf"] != 0,
        values=nodes["value"],
        sets={
            int(node): _codes(bits[nodes["bitset_idx"][node]]) for node in np.flatnonzero(is_set)
        },
        target=target,
    )


def _codes(words: Any) -> Floats:
    """Return the numbers of the bits that are set in words of 32 bits."""
    bits = (words[:, np.newaxis] >> np.arange(_WORD_BITS, dtype=np.uint32)) & 1
    return np.flatnonzero(bits.ravel()).astype(np.float64)
