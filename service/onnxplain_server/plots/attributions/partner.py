"""Partner of a feature: the other feature that its values go along with most, by which to colour.

Where interactions were asked for, it is the one of the largest mean absolute interaction. Where
not, rows of alike values of the feature are put into bins, and split in each by the thirds of the
other feature, or by its most frequent texts; the partner is the feature by whose parts the values
in a bin, less their trend along the feature, vary most. It must explain more than chance would, and
enough to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions.measures import interaction_sizes
from onnxplain_server.plots.axes.missing_values import distinct
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.labels import clean, shorten
from onnxplain_server.plots.elements.number_formats import spell_beside

_ROWS_OF_A_BIN = 30
_PARTS = 3
"""Into which the rows of a bin are split, besides one for missing values or other texts."""
_DEVIATIONS = 4.0
"""Standard deviations beyond what parts explain by chance, as several features are tried."""
_LEAST_SHARE = 0.01
"""Share of the variance of all values shown that can be seen."""
_MOST_PARTNERS = 200
"""Features of the largest attributions that a colour is chosen among, which bounds the time."""


@dataclass(frozen=True, slots=True)
class Partner:
    """The feature that colours points, by its name, or none; and a sentence on it."""

    name: str
    remark: str


def partner_of(result: Result, player: int, output: int, rows: Indices) -> Partner:
    """Choose among the features that count singly.

    Parameters
    ----------
    player : int
        A single feature.
    rows : (n_shown,)
        Positions of rows whose values are finite.
    """
    others = [p for p, own in enumerate(result.features) if len(own) == 1 and p != player]
    if len(others) > _MOST_PARTNERS:
        sizes = np.abs(result.values[:, others, output]).mean(axis=0)
        largest = np.argsort(-sizes, kind="stable")[:_MOST_PARTNERS]
        others = [others[place] for place in np.sort(largest)]
    if result.pairs:
        return _by_interactions(result, player, output, others, rows)
    return _by_variance(result, player, output, others, rows)


def _by_variance(
    result: Result, player: int, output: int, others: list[int], rows: Indices
) -> Partner:
    """Choose the feature whose parts explain most of what differs among rows of like values."""
    name, values = result.features[player][0], result.values[rows, player, output]
    values = values / (np.abs(values).max() or 1.0)  # whose squares are finite
    bins = _bins(_own(result, name)[rows])
    residuals = _detrended(values, _own(result, name)[rows], bins)
    names = [result.features[p][0] for p in others]
    explained = [
        _explained(residuals, bins, _codes(_own(result, other)[rows], _PARTS)) for other in names
    ]
    best = int(np.argmax(explained)) if explained else 0
    alike = f"among rows of like {_short(name)}"
    least = _LEAST_SHARE * float(((values - values.mean()) ** 2).sum())
    if not explained or explained[best] <= least:
        which = "other feature"
        if len(others) < sum(len(own) == 1 for own in result.features) - 1:
            which = f"other one of the {len(others)} features of the largest attributions"
        text = f"no {which} by itself explains {100 * _LEAST_SHARE:g} % of the variance"
        return Partner("", f"No colour: {alike}, {text} beyond chance")
    text = f"with which values vary most {alike}"
    return Partner(names[best], f"Colour: {_short(names[best])}, {text}")


def _by_interactions(
    result: Result, player: int, output: int, others: list[int], rows: Indices
) -> Partner:
    """Choose the feature of the largest mean absolute interaction over the rows explained."""
    sizes = interaction_sizes(result)[:, output]
    places = {frozenset(pair): at for at, pair in enumerate(result.pairs)}
    own = np.array([sizes[places[frozenset((player, other))]] for other in others])
    leading = leaders(own)
    if not leading:
        return Partner("", "No colour: no other feature by itself is found to interact with it")
    name = result.features[others[leading[0]]][0]
    first, s = ("the", "") if len(leading) == 1 else (f"one of the {len(leading)}", "s")
    grouped = " of single features" if len(others) < len(result.features) - 1 else ""
    size = spell_beside(own[leading[0]], own)
    text = f"{first} largest mean absolute interaction{s}{grouped}, {size}"
    if len(distinct(_own(result, name)[rows])) < 2:
        return Partner("", f"No colour: {_short(name)}, with {text}, has one value in these rows")
    return Partner(name, f"Colour: {_short(name)}, with {text}")


def _short(name: str) -> str:
    return shorten(clean(name))


def _own(result: Result, name: str) -> Array:
    return result.feature_values[result.names.index(name)]


def _bins(own: Array) -> Indices:
    """Put rows of like values into bins: (n_rows,); each text has its own."""
    is_text = own.dtype == object
    return _codes(own, len(own) if is_text else max(1, len(own) // _ROWS_OF_A_BIN))


def _codes(own: Array, count: int) -> Indices:
    """Split rows into parts by the values of a feature, equal values into the same part.

    Parts of about as many rows of ascending numbers, and one of missing ones; of texts, the most
    frequent ones, and one of all others.

    Returns
    -------
    codes : (n_rows,)
        From 0 to `count`.
    """
    if own.dtype == object:
        texts, places, sizes = np.unique(
            [str(text or "") for text in own], return_inverse=True, return_counts=True
        )
        ranks = np.full(len(texts), count)
        ranks[np.argsort(-sizes, kind="stable")[:count]] = np.arange(min(count, len(texts)))
        codes: Indices = ranks[places]
        return codes
    ranks = _middle_ranks(own)
    return np.where(np.isnan(ranks), count, np.nan_to_num(ranks) * count).astype(np.intp)


def _middle_ranks(own: Array) -> Vector:
    """Return the mean rank of all equal numbers, above 0 and below 1; NaN for missing ones."""
    numbers = own.astype(np.float64)
    ranks = np.full(len(numbers), np.nan)
    known = ~np.isnan(numbers)
    _, places, sizes = np.unique(numbers[known], return_inverse=True, return_counts=True)
    ranks[known] = (np.cumsum(sizes) - sizes / 2)[places] / max(known.sum(), 1)
    return ranks


def _detrended(values: Vector, own: Array, bins: Indices) -> Vector:
    """Subtract mean and trend along the feature from the values of each bin."""
    ranks = np.zeros(len(own)) if own.dtype == object else np.nan_to_num(_middle_ranks(own))
    residuals = np.array(values)
    for place in np.unique(bins):
        here = bins == place
        along = ranks[here] - ranks[here].mean()
        spread = float(along @ along)
        residuals[here] -= residuals[here].mean()
        if spread > 0:
            residuals[here] -= along * (along @ residuals[here]) / spread
    return residuals


def _explained(residuals: Vector, bins: Indices, parts: Indices) -> float:
    """Return the sum of squares that parts of bins explain beyond chance; 0 where none."""
    cells = bins * (_PARTS + 1) + parts
    _, places, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    sums = np.bincount(places, weights=residuals)
    bin_count = len(np.unique(bins))
    freedom, left = len(sizes) - bin_count, len(residuals) - bin_count
    if freedom == 0 or left == 0:
        return 0.0
    explained, by_one = float((sums**2 / sizes).sum()), float(residuals @ residuals) / left
    is_chance = explained <= (freedom + _DEVIATIONS * np.sqrt(2 * freedom)) * by_one
    return 0.0 if is_chance else explained - freedom * by_one
