"""Summary of a model in a sentence: its kind, trees, inputs and who wrote it, as its file shows."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.model import Description
from onnxplain_server.plots.elements.labels import clean, enumerate_words, shorten

_NETWORK = frozenset(
    {
        *("Attention", "Celu", "Conv", "Elu", "FastGelu", "GRU", "Gelu", "HardSwish", "LSTM"),
        *("LayerNormalization", "LeakyRelu", "Mish", "PRelu", "QuickGelu", "RNN", "Relu", "Selu"),
        *("Softplus", "Tanh"),
    }
)
"""Layers of networks, and functions between layers."""
_LAYERS = frozenset({"Attention", "Conv", "FusedGemm", "GRU", "Gemm", "LSTM", "MatMul", "RNN"})
_LINEAR = frozenset({"FusedGemm", "Gemm", "LinearClassifier", "LinearRegressor", "MatMul"})
_MACHINES = frozenset({"SVMClassifier", "SVMRegressor"})
_PREPARING = frozenset(
    {"Binarizer", "CategoryMapper", "DictVectorizer", "Imputer", "OneHotEncoder", "Scaler"}
    | {"StringNormalizer", "TfIdfVectorizer"}
)
_AROUND_LINEAR = frozenset(
    {
        *("Add", "ArgMax", "ArrayFeatureExtractor", "Cast", "Concat", "Constant", "Div"),
        *("FeatureVectorizer", "Flatten", "Gather", "Identity", "LabelEncoder", "Normalizer"),
        *("Reshape", "Shape", "Sigmoid", "Slice", "Softmax", "Squeeze", "Sub", "Unsqueeze"),
        "ZipMap",
    }
)
"""Operators beside a linear map: of its offset, links, labels and columns."""
_LETTERS = 60
"""Most letters of a program's name."""


def model_summary(description: Description) -> str:
    """Return what a model is; empty where nobody has its file."""
    if not description.digest:
        return ""
    names = {operator.rpartition(":")[2] for operator in description.operators}
    kind = _kind(description, names)
    prepared = sorted(names & _PREPARING)
    beside = f" with {enumerate_words(prepared)}" if prepared else ""
    is_kind = f"It is {kind}{beside}; it takes" if kind else "It takes"
    return f"{is_kind} {_inputs(description)}{_writer(description)}."


def _kind(description: Description, names: set[str]) -> str:
    """Return the kind of a model with its size, as far as its operators tell one kind."""
    if count := description.tree_count:
        trees = "a tree" if count == 1 else f"{count:,} trees"
        depth = description.tree_depth
        return f"{trees} of up to {depth:,} split{'s' * (depth != 1)} from root to leaf"
    if names & _MACHINES:
        return "a support vector machine"
    if names & _NETWORK and names & _LAYERS:
        return "a neural network"
    is_linear = names & _LINEAR and names <= _LINEAR | _PREPARING | _AROUND_LINEAR
    return "a linear model" if is_linear else ""


def _inputs(description: Description) -> str:
    widths = {"number": 0, "text": 0}
    for each in description.inputs:
        if each.width is None:
            return "as many columns as it is given"
        widths["text" if each.type == "string" else "number"] += each.width
    return enumerate_words(_counted(widths)) if any(widths.values()) else "nothing"


def _counted(widths: dict[str, int]) -> Sequence[str]:
    return [f"{n:,} {noun}{'s' * (n != 1)}" for noun, n in widths.items() if n]


def _writer(description: Description) -> str:
    words = (description.producer, description.producer_version)
    told = " ".join(shorten(clean(word), _LETTERS) for word in words if word)
    return f", and was written by {told}" if told else ""
