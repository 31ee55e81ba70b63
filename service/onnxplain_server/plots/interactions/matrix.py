"""Matrix of importances (diagonal) and interactions (other cells), in the manner of R's vivid.

Inglis, Parnell and Hurley (2022), "Visualizing Variable Importance and Variable Interaction Effects
in Machine Learning Models", Journal of Computational and Graphical Statistics 31(3), 766-778.
doi:10.1080/10618600.2021.2007935

Both are square roots of numerators: they have the unit of the output, and compare between pairs,
as shares of joint effects do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.interactions import Result, Statistic
from onnxplain_server.methods.option_checks import GROUP_SIGN
from onnxplain_server.plots.claims.pair_coverage import pair_coverage
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, short_names
from onnxplain_server.plots.marks.bars import JOINT, Bars
from onnxplain_server.plots.marks.ranking import finding, strongest
from onnxplain_server.plots.matrices.cells import Cell, CellWords, Content, draw
from onnxplain_server.plots.matrices.seriation import seriate
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import Units, units_of

_TITLE = "Importances and interactions"
_SERIATED = "Ordered so that features that interact strongly stand together"
_ORDERED = "Ordered by permutation importance, as the other plots"
_LABEL_LENGTH = 42  # characters
_FEWEST = 3
_MOST, _MOST_IN_PANELS = 40, 20  # features


def plots(result: Result, order: Sequence[str] = ()) -> tuple[Plot, ...]:
    """Draw the matrix; none for fewer than three features with pairs.

    Parameters
    ----------
    order : sequence of str
        Features by permutation importance, as the other plots of an answer have them; empty
        where features that interact strongly stand together.
    """
    paired = {name for statistic in result.pairwise for name in statistic.features}
    return (_plot(result, paired, order),) if len(paired) >= _FEWEST else ()


def _plot(result: Result, paired: set[str], order: Sequence[str]) -> Plot:
    pairs = [statistic.features for statistic in result.pairwise]
    units = units_of(result.output_names)
    sizes = units.size_factor * np.sqrt([statistic.numerators for statistic in result.pairwise])
    bars = strongest(pairs, sizes, result.output_names)
    features = _arrange(result, paired, bars.columns, order)
    place = {name: at for at, name in enumerate(features)}
    importances = {s.features[0]: s for s in result.importance}
    content = Content(
        labels=tuple(short_names(features, _LABEL_LENGTH).values()),
        diagonal=tuple(_cell(importances[name], units) for name in features),
        pairs=tuple(_cell(s, units) for s in result.pairwise if set(s.features) <= place.keys()),
        places=place,
        outputs=dict(zip(bars.columns, bars.outputs, strict=True)),
        words=_words(result.resampling.confidence_level),
    )
    remarks = [
        "Diagonal: standard deviation of a feature's effects; elsewhere: of a pair's interaction",
        f"Standard deviations (√numerator) are in {units.of_sizes(result.output_names)}",
        _ORDERED if order else _SERIATED,
        *_remarks(result, bars, len(paired), content),
    ]
    among = pair_coverage(result.overall, result.pairwise).among
    found = f"Of {among or 'the interactions'}, {finding(bars)}"
    found = (
        found if bars.nonzero else f"Each of {among}, is at 0" if among else "Every pair is at 0"
    )
    title = f"{_TITLE} for {spoken(bars.outputs, len(result.output_names))}"
    description = " ".join(f"{sentence}." for sentence in [title, found, *remarks])
    return finish("matrix", title, [found, *remarks], description, draw(content))


def _cell(statistic: Statistic, units: Units) -> Cell:
    """Return a statistic as a cell, with its share, interval and p-value for the tooltip."""
    details = {"share": statistic.values}
    if statistic.spread is not None:
        details |= {"low": statistic.spread.lower, "high": statistic.spread.upper}
    if statistic.p_values is not None:
        details["p"] = statistic.p_values
    name = JOINT.join(map(clean, statistic.features))
    sizes = units.size_factor * np.sqrt(statistic.numerators)
    return Cell(statistic.features, name, sizes, details)


def _words(confidence: float) -> tuple[CellWords, CellWords]:
    """Return the words of importances and of pairs."""
    percent = f"{100 * confidence:.3g} %"
    ends = ("low", f"share, {percent} from", ",.3~r"), ("high", f"share, {percent} to", ",.3~r")
    others = (*ends, ("p", "p-value", ",.3~r"))
    legend = "Size of a feature's", "effects (diagonal)"
    share = ("share", "share of prediction variance", ",.3~r")
    importance = CellWords(legend, "feature", "size of effects", (share, *others))
    legend = "Size of the interaction", "of a pair"
    share = ("share", "H², share of joint effect", ",.3~r")
    return importance, CellWords(legend, "pair", "size of interaction", (share, *others))


def _arrange(
    result: Result, paired: set[str], columns: tuple[int, ...], order: Sequence[str]
) -> list[str]:
    """Return the features of rows and columns in order; those that interact most, if too many.

    Ties, and features that a given order lacks, stand by importance and name, so that the order
    of the table does not matter.
    """
    importances = {
        statistic.features[0]: _size(statistic, columns) for statistic in result.importance
    }
    names = sorted(paired, key=lambda name: (-importances[name], name))
    similarities = _similarities(result, names, columns)
    limit = _MOST if len(columns) == 1 else _MOST_IN_PANELS
    strongest_first = np.lexsort((-similarities.sum(axis=0), -similarities.max(axis=0)))
    kept: Indices = np.sort(strongest_first[:limit])
    if not order:
        return [names[kept[at]] for at in seriate(similarities[np.ix_(kept, kept)])]
    place = {name: at for at, name in enumerate(order)}
    return sorted((names[at] for at in kept), key=lambda name: _place(name, place))


def _place(name: str, places: Mapping[str, int]) -> int:
    """Return the place of a feature, or of the first one of a group; the last if none has any."""
    return min(places.get(each, len(places)) for each in (name, *name.split(GROUP_SIGN)))


def _similarities(result: Result, names: list[str], columns: tuple[int, ...]) -> Matrix:
    """Return sizes of interactions, summed over outputs: (n_names, n_names); 0 if not finite."""
    place = {name: at for at, name in enumerate(names)}
    similarities = np.zeros((len(names), len(names)))
    for statistic in result.pairwise:
        i, j = (place[name] for name in statistic.features)
        similarities[i, j] = similarities[j, i] = _size(statistic, columns)
    return similarities


def _size(statistic: Statistic, columns: tuple[int, ...]) -> float:
    """Return the size of a statistic, summed over outputs; without those that are not finite."""
    sizes = np.nan_to_num(np.sqrt(statistic.numerators), posinf=0.0)
    return float(sizes[list(columns)].sum())


def _remarks(result: Result, bars: Bars, paired_count: int, content: Content) -> Iterator[str]:
    """Yield remarks on features, outputs and values that are not shown."""
    feature_count, shown = len(result.importance), len(content.labels)
    if paired_count < feature_count:
        yield f"Pairs were computed for {paired_count} of {feature_count} features"
    if len(result.pairwise) < comb(paired_count, 2):
        yield "Blank cells: pairs that were not looked at"
    if shown < paired_count:
        yield f"{shown} of {paired_count} features with pairs, those that interact most"
    if len(bars.outputs) < len(result.output_names):
        yield f"{len(bars.outputs)} strongest of {len(result.output_names)} outputs"
    broken, count = content.broken()
    if broken:
        yield f"Grey: not finite, {broken} of {count} values"
