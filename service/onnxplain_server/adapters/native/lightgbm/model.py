"""LightGBM's model: from its text or JSON to a forest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, quoted, too_complex, unsupported
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import NativeForest
from onnxplain_server.adapters.native.lightgbm import document, text
from onnxplain_server.adapters.native.lightgbm.categories import read_features
from onnxplain_server.adapters.native.lightgbm.objectives import read_objective
from onnxplain_server.adapters.native.lightgbm.parts import Header, LightGBMTree
from onnxplain_server.adapters.native.lightgbm.trees import check, join
from onnxplain_server.core.model_limits import ModelLimits

_VERSIONS = frozenset({"v2", "v3", "v4"})


def read_text(content: bytes, limits: ModelLimits) -> NativeForest:
    """Read a model as `Booster.save_model` writes it.

    Raises
    ------
    ExplainError
        INVALID_MODEL, UNSUPPORTED_MODEL, or MODEL_TOO_COMPLEX for too many outputs.
    """
    model = text.parse(content)
    _check(model.header, limits)
    return _forest(model.header, [text.read_tree(block) for block in model.trees])


def read_json(model: Fields, limits: ModelLimits) -> NativeForest:
    """Read a model as `Booster.dump_model` gives it.

    Raises
    ------
    ExplainError
        As `read_text`.
    """
    header = document.read_header(model)
    _check(header, limits)
    trees = [document.read_tree(tree) for tree in model.children("tree_info")]
    return _forest(header, trees)


def _check(header: Header, limits: ModelLimits) -> None:
    if header.version not in _VERSIONS:
        raise unsupported(
            f"The model is in LightGBM's format {quoted(header.version)}. Read are v2, v3 and v4, "
            "of LightGBM 2.2 to 4.7."
        )
    if header.tree_per_iteration > limits.target_count:
        raise too_complex(
            header.tree_per_iteration, limits.target_count, "columns in a tree ensemble"
        )


def _forest(header: Header, trees: Sequence[LightGBMTree]) -> NativeForest:
    """Join the parts of a model; scores are sums of leaves in float64, as LightGBM adds them."""
    count = header.tree_per_iteration
    if len(trees) % count:
        raise invalid(f"The model has {len(trees):,} trees, {count:,} in each iteration.")
    for i, tree in enumerate(trees):
        check(tree, i, len(header.names))
    objective = read_objective(header.objective, count)
    features = read_features(header._replace(code_counts=_code_counts(header, trees)))
    has_codes = np.array([feature.categories is not None for feature in features.features])
    share = len(trees) // count if header.is_average and trees else 1
    joined = join(trees, count, has_codes, objective.factor / share)
    return NativeForest(
        producer=f"LightGBM (format {header.version})",
        features=features.features,
        nodes=joined.nodes,
        leaves=joined.leaves,
        base=np.zeros(count),
        link=objective.link,
        is_double=True,
        derived=joined.derived,
        notes=(*features.notes, *_notes(header)),
    )


def _code_counts(header: Header, trees: Sequence[LightGBMTree]) -> dict[int, int]:
    """Return the header's counts of codes, raised by the codes that trees know."""
    counts = dict(header.code_counts)
    for tree in trees:
        for node, codes in tree.members.items():
            feature = int(tree.features[node])
            counts[feature] = max(counts.get(feature, 0), int(codes.max(initial=-1)) + 1)
    return counts


def _notes(header: Header) -> tuple[str, ...]:
    notes = []
    if not header.objective:
        notes.append(
            "The model has no objective, as with objectives of one's own: raw scores are "
            "explained, as LightGBM predicts them."
        )
    if header.is_average is None:
        notes.append(
            "The JSON does not tell whether trees are averaged, as in LightGBM's random forests; "
            "they are added up."
        )
    return tuple(notes)
