"""Categories of pandas: which features the lists of a LightGBM file belong to.

Python's package writes the categories of those columns that pandas had as categorical, in order of
columns, and knows them as codes. It does not write which columns these are: they are the
categorical features, those with ordered categories, which are numbers to LightGBM, and not the
features that were declared as categorical without pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, too_complex, unsupported
from onnxplain_server.adapters.native.forest import Feature
from onnxplain_server.adapters.native.lightgbm.parts import Header
from onnxplain_server.core.arrays import Flags, Indices

_CHOICE_LIMIT = 2**26
"""Most features times lists: bytes, and a second."""

Categories = tuple[str, ...] | tuple[float, ...]


class FeatureCategories(NamedTuple):
    """Features, and a note where their categories could belong to others."""

    features: tuple[Feature, ...]
    notes: tuple[str, ...] = ()


def read_features(header: Header) -> FeatureCategories:
    """Give features their categories.

    Raises
    ------
    ExplainError
        INVALID_MODEL for categories that are none, UNSUPPORTED_MODEL for those of a kind that is
        not read, and where several features could have them.
    """
    names = _names(header)
    lists = [_categories(values) for values in header.pandas_categories]
    if not lists:
        return FeatureCategories(tuple(map(Feature, names)))
    owners, is_certain = _owners(header, lists)
    own = dict(zip(owners, lists, strict=True))
    features = tuple(Feature(name, own.get(i)) for i, name in enumerate(names))
    if is_certain:
        return FeatureCategories(features)
    told = ", ".join(f"{header.names[i]} ({own[i][0]!r}, ...)" for i in owners[:5])
    note = (
        "LightGBM does not write which features have the categories that it keeps; they are read "
        f"as those of {told}{', ...' * (len(owners) > 5)}."
    )
    return FeatureCategories(features, (note,))


def _names(header: Header) -> Sequence[str]:
    """Return the names; none where LightGBM made them up for columns without."""
    if list(header.names) == [f"Column_{i}" for i in range(len(header.names))]:
        return [""] * len(header.names)
    return header.names


def _categories(values: object) -> Categories:
    if not isinstance(values, list) or not values:
        raise invalid("The model has pandas categories that are no list of values.")
    if any(isinstance(value, list | dict) for value in values) or len(set(values)) < len(values):
        raise invalid("The model has pandas categories that are not all different values.")
    if all(isinstance(value, str) for value in values):
        return tuple(values)
    if not all(isinstance(value, int | float) for value in values):
        raise unsupported(
            "The model has pandas categories that are neither all texts nor all numbers, like "
            f"{values[0]!r:.40}. Train with their codes, or with texts."
        )
    if any(abs(value) >= 2**24 or float(np.float32(value)) != value for value in values):
        raise unsupported(
            "The model has pandas categories that float32 does not hold. Train with texts."
        )
    return tuple(map(float, values))


def _owners(header: Header, lists: Sequence[Categories]) -> tuple[Sequence[int], bool]:
    """Find the feature of each list, and whether no others could have them."""
    everything = range(len(header.names))
    if len(everything) * len(lists) > _CHOICE_LIMIT:
        raise too_complex(
            len(everything) * len(lists), _CHOICE_LIMIT, "pairs of features and pandas categories"
        )
    sizes = np.array([len(values) for values in lists])
    fits = _Fits(header)
    categorical = sorted(header.code_counts)
    plain = _choose(categorical, sizes, fits, required=categorical)
    if plain.way_count:  # one list each
        return plain.first, _choose(everything, sizes, fits).way_count == 1
    for choice in (
        _choose(everything, sizes, fits, required=categorical),
        _choose(categorical, sizes, fits),
    ):
        if choice.way_count == 1:
            return choice.first, False
        if choice.way_count:
            break
    raise unsupported(
        f"The model has {len(sizes):,} lists of pandas categories and {len(categorical):,} "
        "categorical features, and does not tell which features the lists belong to. Train with "
        "the codes of ordered categories, and declare others by their dtype."
    )


class _Fits:
    """Features that could have a list of categories, by the values of the training."""

    def __init__(self, header: Header) -> None:
        self._header = header

    def __call__(self, feature: int, sizes: Indices) -> Flags:
        """Return whether a feature's codes, if it has any, are those of lists of these sizes."""
        if feature in self._header.code_counts:
            low, high = 0.0, self._header.code_counts[feature] - 1.0
        else:  # a feature without either was constant, or never used
            low, high = self._header.ranges.get(feature, (0.0, 0.0))
        if low < 0 or not low.is_integer() or not high.is_integer():
            return np.zeros(len(sizes), dtype=bool)
        fits: Flags = sizes > high
        return fits


class _Choice(NamedTuple):
    """Number of ways to choose features, up to 2, and one of them."""

    way_count: int
    first: Sequence[int]


def _choose(
    features: Sequence[int],
    sizes: Indices,
    fits: Callable[[int, Indices], Flags],
    required: Collection[int] = (),
) -> _Choice:
    """Choose one feature for each list, in order, with all that are required."""
    needed = frozenset(required)
    ways = np.zeros((len(features) + 1, len(sizes) + 1), dtype=np.uint8)
    ways[-1, -1] = 1
    for i in range(len(features) - 1, -1, -1):
        ways[i, :-1] = ways[i + 1, 1:] * fits(features[i], sizes)
        if features[i] not in needed:
            ways[i] = np.minimum(ways[i] + ways[i + 1], 2)
    chosen: list[int] = []
    for i, feature in enumerate(features):
        done = len(chosen)
        if done < len(sizes) and ways[i + 1, done + 1] and fits(feature, sizes[[done]])[0]:
            chosen.append(feature)
    return _Choice(int(ways[0, 0]), chosen)
