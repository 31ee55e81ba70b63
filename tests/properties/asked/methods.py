"""Options of the methods, small enough that a request takes a moment, as JSON has them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import MethodOptions

Options = st.SearchStrategy[dict[str, Any]]
_LOSSES = [
    "ABSOLUTE_ERROR",
    "POISSON",
    "GAMMA",
    "LOGLOSS",
    "MLOGLOSS",
    "PINBALL",
    *8 * ["SQUARED_ERROR"],
]

METHODS = tuple(
    field.json_name for field in MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields
)


def options_of(
    method: str,
    features: tuple[str, ...],
    columns: tuple[str, ...],
    classes: tuple[str, ...],
    n_rows: int,
) -> Options:
    """Options of a method, for a model with such features and a table with such columns."""
    one = st.sampled_from(features)
    names = st.lists(one, min_size=1, max_size=3, unique=True)
    column = st.sampled_from(columns)
    rows = st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=2, unique=True)
    makers = {
        "interactions": lambda: _interactions(features),
        "partialDependence": lambda: _partial_dependence(names, column),
        "individualConditionalExpectation": lambda: _single_rows(names, column),
        "permutationImportance": lambda: _permutation_importance(names),
        "averageLoss": lambda: _average_loss(column),
        "featureVectors": lambda: _feature_vectors(features, rows),
        "firm": lambda: _firm(features, columns),
        "swarm": lambda: _swarm(features, names, classes, rows),
        "attributions": lambda: _attributions(features, rows),
        "accumulatedLocalEffects": lambda: _accumulated_local_effects(one, column),
    }
    return makers[method]()


def _some(required: dict[str, Any], optional: dict[str, Any]) -> Options:
    return st.fixed_dictionaries(required, optional=optional)


def _groups(names):
    group = st.fixed_dictionaries({"names": names})
    return st.lists(group, min_size=1, max_size=2)


def _interactions(features: tuple[str, ...]) -> Options:
    most = min(3, len(features))
    three = st.lists(st.sampled_from(features), min_size=2, max_size=most, unique=True)
    return _some(
        {"features": three, "pairwiseFeatureCount": st.sampled_from([0, 3, 3])},
        {
            "threewayFeatureCount": st.sampled_from([0, 3]),
            "quantileBinCount": st.sampled_from([2, 4]),
            "repeatCount": st.just(10),
            "resampling": st.sampled_from(["BOOTSTRAP", "JACKKNIFE"]),
            "confidenceLevel": st.sampled_from([0.5, 0.9]),
            "permutationCount": st.sampled_from([0, 19]),
            "knotCount": st.sampled_from([0, 3]),
        },
    )


_GRID_SIZE: dict[str, Any] = {"gridSize": st.sampled_from([2, 3, 5])}
_GRID: dict[str, Any] = {
    "strategy": st.sampled_from(["UNIFORM", "UNIFORM", "QUANTILE", "QUANTILE", "STEPS"]),
    "trimLower": st.sampled_from([0.0, 0.2]),
    "trimUpper": st.sampled_from([0.8, 1.0]),
    "includeMissing": st.booleans(),
}


_REPEATED: dict[str, Any] = {
    "repeatCount": st.just(10),
    "confidenceLevel": st.sampled_from([0.5, 0.9]),
}


def _partial_dependence(names, column) -> Options:
    grouped = {"groupColumn": column, "groupCount": st.sampled_from([1, 2, 3])}
    return _some({"features": _groups(names)} | _GRID_SIZE, _GRID | grouped | _REPEATED)


def _accumulated_local_effects(one, column) -> Options:
    names = st.lists(one, min_size=1, max_size=2, unique=True)
    entries = st.lists(st.fixed_dictionaries({"names": names}), min_size=1, max_size=2)
    others = {
        "groupColumn": column,
        "groupCount": st.sampled_from([1, 2, 3]),
        **_REPEATED,
    }
    return _some({"features": entries, "binCount": st.sampled_from([2, 3, 5])}, others)


def _single_rows(names, column) -> Options:
    others = {
        "curveCount": st.sampled_from([1, 3, 100]),
        "groupColumns": st.lists(column, min_size=1, max_size=2, unique=True),
        "groupCount": st.sampled_from([1, 2, 3]),
        "centered": st.booleans(),
    }
    return _some({"features": names} | _GRID_SIZE, _GRID | others)


_COMPARED: dict[str, Any] = {
    "loss": st.sampled_from(_LOSSES),
    "oneHotTarget": st.booleans(),
    "sumOutputs": st.booleans(),
}


def _permutation_importance(names) -> Options:
    others = {"repeatCount": st.sampled_from([1, 2, 3]), "normalize": st.booleans()}
    return _some({"features": _groups(names)}, _COMPARED | others)


def _average_loss(column) -> Options:
    grouped = {"groupColumn": column, "groupCount": st.sampled_from([1, 2, 3])}
    return _some({}, _COMPARED | grouped | _REPEATED)


def _feature_vectors(features: tuple[str, ...], rows) -> Options:
    chosen = st.lists(st.sampled_from(features), min_size=2, max_size=len(features), unique=True)
    return _some(
        {
            "source": st.sampled_from(["MODEL", "SURROGATE", "LABELS"]),
            "sentenceCount": st.just(100),
            "depth": st.sampled_from([1, 2, 3]),
        },
        {
            "features": chosen,
            "window": st.sampled_from([2, 3, 5]),
            "counting": st.sampled_from(["PER_WINDOW", "PER_PATH"]),
            "fillDiagonal": st.booleans(),
            "minSplitCount": st.sampled_from([0, 2]),
            "dimensionCount": st.sampled_from([2, 3]),
            "rowIndices": rows,
            "repeatCount": st.sampled_from([0, 2]),
            "importanceFloor": st.sampled_from([0.0, 0.5]),
            "includeCooccurrence": st.booleans(),
            "includeSimilarity": st.booleans(),
        }
        | _pairs_as_one(features),
    )


def _firm(features: tuple[str, ...], columns: tuple[str, ...]) -> Options:
    first = features[0]
    texts = [
        *features,
        *columns,
        f"{first} > 0.5",
        f"not ({first} > 0.5)",
        f"{first} + {features[1]}",
    ]
    texts += ["city == 'Oslo'"] if "city" in columns else []
    return _some(
        {"features": st.lists(st.sampled_from(texts), min_size=1, max_size=3, unique=True)},
        {
            "estimator": st.sampled_from(
                ["GAUSSIAN", "TAYLOR", "TWO_VALUED", "SLOPE", "BINNED", "SMOOTH"]
            ),
            "source": st.sampled_from(["MODEL", "LABELS", "BOTH"]),
            "covariance": st.sampled_from(["EMPIRICAL", "SHRUNK"]),
            "binCount": st.sampled_from([2, 5]),
            "keepBias": st.booleans(),
            "standardize": st.booleans(),
            "contrasts": st.lists(
                st.sampled_from(["PARTIAL_DEPENDENCE", "SENSITIVITY", "WEIGHT"]),
                max_size=2,
                unique=True,
            ),
            "repeatCount": st.sampled_from([0, 10]),
        }
        | _pairs_as_one(features),
    )


def _swarm(features: tuple[str, ...], names, classes: tuple[str, ...], rows) -> Options:
    harm: dict[str, Any] = {"score": st.sampled_from(["ACCURACY", "F1", "BALANCED_ACCURACY"])}
    loss = st.sampled_from(_LOSSES)
    return _some(
        {"features": names, "particleCount": st.just(3), "iterationCount": st.just(3)}
        | ({} if classes else {"loss": loss}),
        (harm if classes else {})
        | {
            "search": st.sampled_from(["EXACT", "PUBLISHED", "DIFFERENTIAL_EVOLUTION"]),
            "restartCount": st.sampled_from([1, 2]),
            "weightLimit": st.sampled_from([2.0, 10.0]),
            "start": st.sampled_from(["UNPERTURBED", "UNIFORM"]),
            "perturbation": st.sampled_from(["MULTIPLICATION", "GAUSSIAN"]),
            "zeroOffset": st.sampled_from([0.0, 1.0]),
            "rowIndices": rows,
            "windowCount": st.sampled_from([1, 5]),
            "sliverWidth": st.sampled_from([0.0, 0.5]),
            "pointCount": st.just(10),
        }
        | _pairs_as_one(features),
    )


def _pairs_as_one(features: tuple[str, ...]) -> dict[str, Any]:
    """Return groups of features: none, or one of two."""
    few = st.lists(st.sampled_from(features), min_size=2, max_size=2, unique=True)
    group = st.lists(st.fixed_dictionaries({"names": few}), max_size=1)
    return {"groups": group if len(features) > 1 else st.just([])}


def _attributions(features: tuple[str, ...], rows) -> Options:
    others: dict[str, Any] = {"rowIndices": rows, "backgroundRowIndices": rows}
    others |= _pairs_as_one(features) | {
        "perturbation": st.sampled_from(["INTERVENTIONAL", "INTERVENTIONAL", "PATH_DEPENDENT"]),
        "value": st.sampled_from(["SHAPLEY", "SHAPLEY", "BANZHAF"]),
        "order": st.sampled_from([1, 1, 2]),
    }
    counts = {
        "explainedRowCount": st.sampled_from([1, 10]),
        "permutationCount": st.sampled_from([2, 9]),
        "targetStandardError": st.sampled_from([0.0, 0.1]),
    }
    return _some(counts, others)
