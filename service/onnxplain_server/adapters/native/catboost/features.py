"""CatBoost's features: their order in a table, missing values, and the texts behind hashes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from onnxplain_server.adapters.native.faults import invalid, quoted, unsupported
from onnxplain_server.adapters.native.fields import Fields

_GOES_RIGHT = {"AsIs": False, "AsFalse": False, "AsTrue": True}
"""Whether a missing value is above all borders, by the name of its treatment."""
_HASHES = 2**32


class Numeric(NamedTuple):
    """Numeric feature: its column in the table, and whether missing values go right."""

    column: int
    missing_is_right: bool


class Categorical(NamedTuple):
    """Categorical feature: its column in the table."""

    column: int


class FeatureTable(NamedTuple):
    """Features of a model.

    Attributes
    ----------
    names : tuple of str
        By column of the table; all empty where the file has none.
    numeric : mapping of int to Numeric
        By the number that splits have for them.
    categorical : mapping of int to Categorical
    texts : mapping of int to str
        Category by its hash, an unsigned number of 32 bits; empty where the file has none.
    """

    names: tuple[str, ...]
    numeric: Mapping[int, Numeric]
    categorical: Mapping[int, Categorical]
    texts: Mapping[int, str]


def read_features(info: Fields) -> FeatureTable:
    """Read `features_info`.

    Raises
    ------
    ExplainError
        INVALID_MODEL, or UNSUPPORTED_MODEL for features of texts and embeddings.
    """
    names: dict[int, str] = {}
    numeric = {
        feature.integer("feature_index"): Numeric(_place(feature, names), _goes_right(feature))
        for feature in _listed(info, "float_features")
    }
    categorical = {
        feature.integer("feature_index"): Categorical(_place(feature, names))
        for feature in _listed(info, "categorical_features")
    }
    if max(names, default=-1) + 1 != len(names):
        raise unsupported(
            "The model has features that are neither numbers nor categories, as texts and "
            "embeddings are in CatBoost, which are not read."
        )
    ordered = tuple(names[column] for column in range(len(names)))
    if not all(ordered) or len(set(ordered)) < len(ordered):
        ordered = ("",) * len(ordered)
    return FeatureTable(ordered, numeric, categorical, _texts(info))


def read_hash(fields: Fields, name: str) -> int:
    """Read the hash of a category as an unsigned number of 32 bits; files may give it a sign."""
    return fields.integer(name, low=-_HASHES // 2, high=_HASHES) % _HASHES


def _listed(info: Fields, name: str) -> list[Fields]:
    return list(info.children(name)) if name in info else []


def _place(feature: Fields, names: dict[int, str]) -> int:
    """Return a feature's column, and keep its name."""
    column = feature.integer("flat_feature_index")
    if column in names:
        raise feature.fault("flat_feature_index", f"is {column}, as another feature's")
    stated = "feature_name" if "feature_name" in feature else "feature_id"
    names[column] = feature.text(stated, "")
    return column


def _goes_right(feature: Fields) -> bool:
    treatment = feature.text("nan_value_treatment", "AsIs")
    if treatment not in _GOES_RIGHT:
        raise feature.fault("nan_value_treatment", f"is {quoted(treatment)}, which is not known")
    return _GOES_RIGHT[treatment]


def _texts(info: Fields) -> dict[int, str]:
    entries = _listed(info, "cat_features_hash")
    texts = {read_hash(entry, "hash"): entry.text("value") for entry in entries}
    if len(texts) < len(entries):
        raise invalid("The model has two categories of one hash in cat_features_hash.")
    return texts
