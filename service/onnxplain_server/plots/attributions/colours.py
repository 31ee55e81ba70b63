"""Colours of points by another feature: ranks of its numbers, or its most frequent texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.attributions.scatter import ranks_of
from onnxplain_server.plots.attributions.words import own_value, own_values
from onnxplain_server.plots.elements.labels import clean, short_names, shorten
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import (
    AREA_SCHEME,
    MOST_SERIES,
    SERIES_COLOURS,
    Spec,
)

_LENGTH = 24  # characters in the legend


@dataclass(frozen=True, slots=True, eq=False)
class Colours:
    """Colours of points.

    Attributes
    ----------
    title : str
        Name of the feature; empty without any.
    marks : list of dict
        Data of each point that the encoding reads, and the value as text, `other`.
    encoding : dict
        Empty for one colour.
    remark : str
        On grey points and ranks, to follow a sentence; may be empty.
    """

    title: str
    marks: list[Spec]
    encoding: Spec
    remark: str = ""


def plain(count: int) -> Colours:
    """Give all points one colour."""
    return Colours("", [{}] * count, {})


def colours_by(name: str, own: Array) -> Colours:
    """Colour points by the values, (n_points,), of a feature."""
    title = shorten(clean(name), _LENGTH)
    return _by_text(title, own) if own.dtype == object else _by_rank(title, own)


def _by_rank(title: str, own: Array) -> Colours:
    ranks = ranks_of(own)
    marks = _marks(own, [None if np.isnan(r) else data_number(r, -6) for r in ranks], "rank")
    low, high = (own_value(own, int(at)) for at in (np.nanargmin(ranks), np.nanargmax(ranks)))
    labels = f"datum.value == 0 ? {json.dumps(low)} : {json.dumps(high)}"
    ranked = {
        "field": "rank",
        "type": "quantitative",
        "scale": {"scheme": AREA_SCHEME, "domain": [0, 1]},
        "legend": {"title": title, "values": [0, 1], "labelExpr": labels},
    }
    grey = "; grey: missing" if np.isnan(ranks).any() else ""
    return Colours(title, marks, ranked, f"colours go by rank{grey}")


def _by_text(title: str, own: Array) -> Colours:
    texts = [str(value) if value else "" for value in own]
    ranked = Counter(text for text in texts if text).most_common(MOST_SERIES)
    labels = short_names((text for text, _ in ranked), _LENGTH)
    marks = _marks(own, [labels.get(text) for text in texts], "series")
    named = {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": [*labels.values()], "range": [*SERIES_COLOURS[: len(labels)]]},
        "legend": {"title": title},
    }
    greys = [
        *(["other values"] if {*texts} - {*labels, ""} else []),
        *(["missing"] if "" in texts else []),
    ]
    return Colours(title, marks, named, f"grey: {' or '.join(greys)}" if greys else "")


def _marks(own: Array, values: Sequence[float | str | None], field: str) -> list[Spec]:
    return [
        {"other": text, **({} if value is None else {field: value})}
        for text, value in zip(own_values(own), values, strict=True)
    ]
