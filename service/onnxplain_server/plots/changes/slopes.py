"""Plots of ranks before and after, joined by lines: which features have changed places."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.methods.changes.found import OutputRankings
from onnxplain_server.methods.changes.rankings import RankedFeatures
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, shorten, shorten_apart
from onnxplain_server.plots.elements.style import (
    BAR_STEP,
    PANEL_WIDTH,
    PLAIN_COLOUR,
    UNCHANGED_COLOUR,
    Spec,
)
from onnxplain_server.plots.marks.bars import labels_of

_MOST = 10
_LABEL_LENGTH = 22
"""Characters of a name, which stands at both sides."""
_SIDES = ("before", "after")
_KINDS = {
    "PERMUTATION_IMPORTANCE": "permutation importance",
    "IMPORTANCE": "importance",
    "FIRM_IMPORTANCE": "importance by FIRM",
    "MEAN_ABSOLUTE_ATTRIBUTION": "mean absolute attribution",
}
"""Kinds of rankings, in their order."""
_TOOLTIP = tooltip(
    ("label", "feature", ""),
    ("before", "before", ""),
    ("after", "after", ""),
    ("verdict", "verdict", ""),
)


class _DrawnSide(NamedTuple):
    """Ranks of a side as texts, and where they stand from top to bottom, from 1."""

    ranks: list[str]
    places: Indices


def slope_plots(
    rankings: tuple[OutputRankings, ...], name_of: Callable[[str], str]
) -> Iterator[Plot]:
    """Draw each ranking of two features or more that either side uses.

    Names are like "change-ranking-importance-price".
    """
    kinds = list(_KINDS)
    for each in sorted(rankings, key=lambda one: kinds.index(one.kind)):
        drawn = _leading(each.ranking.ranked)
        if len(drawn) > 1:
            yield _plot(each, drawn, name_of(each.output_name))


def _leading(ranked: RankedFeatures) -> Indices:
    """Return the positions of the features that come first on either side, and are used."""
    sides = np.stack([ranked.reference_ranks, ranked.ranks])
    best, other = sides.min(axis=0), sides.max(axis=0)
    first: Indices = np.lexsort((other, best))[:_MOST]
    return np.array(first[best[first] <= len(ranked.features)])


def _plot(rankings: OutputRankings, drawn: Indices, output: str) -> Plot:
    ranked = rankings.ranking.ranked
    features = [ranked.features[i] for i in drawn]
    labels = shorten_apart(labels_of(features), _LABEL_LENGTH)
    last = len(ranked.features)
    sides = [_side(ranks[drawn], last) for ranks in (ranked.reference_ranks, ranked.ranks)]
    moved = ranked.have_moved[drawn].tolist()
    rows = [_row(labels[k], moved[k], k, sides) for k in range(len(drawn))]
    title = f"Ranks by {_KINDS[rankings.kind]} for {shorten(clean(output))}"
    remarks = list(_remarks(rankings, len(drawn)))
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    name = f"change-ranking-{rankings.kind}-{rankings.output_name}".lower()
    return finish(name, title, remarks, description, _body(rows, labels, sides))


def _side(ranks: Indices, last: int) -> _DrawnSide:
    """Place ranks up to the number of those drawn at their rank, and others below, in order."""
    count = place = len(ranks)
    places = np.empty(count, np.intp)
    for i in np.argsort(ranks, kind="stable"):
        is_low = ranks[i] > count
        place += int(is_low)
        places[i] = place if is_low else ranks[i]
    return _DrawnSide([str(rank) if rank <= last else "not used" for rank in ranks], places)


def _row(label: str, moved: bool, k: int, sides: list[_DrawnSide]) -> dict[str, object]:
    row: dict[str, object] = {"label": label, "verdict": "changed" if moved else "not shown"}
    for name, side in zip(_SIDES, sides, strict=True):
        row |= {name: side.ranks[k], f"{name}_place": int(side.places[k])}
    return row


def _remarks(rankings: OutputRankings, drawn: int) -> Iterator[str]:
    ranking = rankings.ranking
    count, moved = len(ranking.ranked.features), int(ranking.ranked.have_moved.sum())
    yield f"{moved} of {count} changed places by more than chance: blue"
    agreement = ranking.rank_correlation
    if np.isfinite([agreement.value, agreement.lower, agreement.upper]).all():
        ends = f"{agreement.lower:.2f} to {agreement.upper:.2f}"
        yield f"Rank correlation {agreement.value:.2f}, interval {ends}"
    if count > drawn:
        yield f"The {drawn} first ones of either side; {count - drawn} others are not drawn"


def _body(rows: list[dict[str, object]], labels: tuple[str, ...], sides: list[_DrawnSide]) -> Spec:
    count = max(int(side.places.max()) for side in sides)
    colour: Spec = {
        "condition": {"test": "datum.verdict == 'changed'", "value": PLAIN_COLOUR},
        "value": UNCHANGED_COLOUR,
    }
    # Lines in blue lie over grey ones.
    rows = sorted(rows, key=lambda row: row["verdict"] == "changed")
    y: Spec = {"type": "quantitative", "scale": {"domain": [count + 0.5, 0.5], "nice": False}}
    ends = [_x(name) for name in _SIDES]
    line: Spec = {"x": ends[0], "x2": {"datum": "after"}, "color": colour, "tooltip": _TOOLTIP}
    line |= {"y": {"field": "before_place", **y, "axis": None}, "y2": {"field": "after_place"}}
    dots: list[Spec] = [
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {
                "x": end,
                "y": {"field": f"{name}_place", **y, "axis": _axis(labels, side, orient)},
                "color": colour,
                "tooltip": _TOOLTIP,
            },
        }
        for name, end, side, orient in zip(_SIDES, ends, sides, ("left", "right"), strict=True)
    ]
    return {
        "data": {"values": rows},
        "width": PANEL_WIDTH,
        "height": BAR_STEP * count,
        "layer": [{"mark": {"type": "rule", "strokeWidth": 2}, "encoding": line}, *dots],
        "resolve": {"scale": {"y": "independent"}},
    }


def _x(name: str) -> Spec:
    axis = {"orient": "top", "labelAngle": 0, "domain": False, "ticks": False, "title": None}
    scale = {"type": "point", "domain": list(_SIDES), "padding": 0}
    return {"datum": name, "type": "nominal", "scale": scale, "axis": axis}


def _axis(labels: tuple[str, ...], side: _DrawnSide, orient: str) -> Spec:
    """Return an axis that names the features at their places, after their ranks."""
    texts = [""] * (int(side.places.max()) + 1)
    for label, rank, place in zip(labels, side.ranks, side.places.tolist(), strict=True):
        texts[place] = f"{rank}  {label}" if rank.isdecimal() else f"{rank}: {label}"
    return {
        "title": None,
        "domain": False,
        "ticks": False,
        "grid": False,
        "labelPadding": 8,
        "orient": orient,
        "values": sorted(side.places.tolist()),
        "labelExpr": f"{json.dumps(texts)}[datum.value]",
    }
