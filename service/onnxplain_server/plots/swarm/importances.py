"""Plots of swarm: importances as bars, each class in detail, and the similarity of classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.swarm import Effect, Result
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, identifiers, shorten
from onnxplain_server.plots.elements.style import MOST_SERIES
from onnxplain_server.plots.marks.bars import BarTitles, draw
from onnxplain_server.plots.marks.ranking import counts, finding, strongest
from onnxplain_server.plots.swarm import detail, similarity
from onnxplain_server.plots.swarm.axes import measure
from onnxplain_server.plots.swarm.detail import extrapolation, made_up
from onnxplain_server.plots.units.naming import spoken

_TITLE = "Stress test: harm done by moving a feature"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw importances, and, if rows are moved by class, each class and their similarity."""
    bars = (_importances(result),)
    if any(effect.row_index is not None for effect in result.effects):
        return bars
    cohorts = _strongest(result.cohorts)
    names = identifiers(
        f"swarm-{effects[0].class_name.removeprefix('class ')}" for effects in cohorts
    )
    details = tuple(
        detail.plot(result, effects, name) for effects, name in zip(cohorts, names, strict=True)
    )
    return (*bars, *details, *similarity.plots(result))


def _strongest(cohorts: Sequence[tuple[Effect, ...]]) -> list[tuple[Effect, ...]]:
    """Return the classes whose scores drop most, in their order."""
    drops = [sum(effect.search_result.drop for effect in effects) for effects in cohorts]
    strongest = np.sort(np.argsort(-np.array(drops), kind="stable")[:MOST_SERIES])
    return [cohorts[place] for place in strongest]


def _importances(result: Result) -> Plot:
    """Draw a bar per feature and class, or per feature without classes or for single rows."""
    by_class = bool(result.similarity.size)
    if by_class:
        parts = [[effect.importance for effect in effects] for effects in result.cohorts]
        names = tuple(effects[0].class_name for effects in result.cohorts)
        values = np.array(parts).T
    else:
        names, values = ("all rows used",), result.importances[:, None]
    bars = strongest([(name,) for name in result.features], values, names)
    remarks = [
        f"{_unit(result)}, in {_range(result)}",
        "Ties are ordered by how little the features are moved",
        _made_up(result),
        *extrapolation(result.effects),
        *counts("feature", bars, len(names)),
        *_low_agreement(result),
    ]
    title = f"{_TITLE} for {spoken(bars.outputs, len(names))}" if by_class else _TITLE
    sentences = [f"{title}: {finding(bars)}", *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    body = draw(bars, BarTitles("feature", "importance", "class"), _unit(result))
    return finish("swarm-importance", title, remarks, description, body)


def _unit(result: Result) -> str:
    """Name the unit of importance."""
    limit = f"{result.motion.weight_limit:.4g}"
    change = "fall of" if result.score is not None else "rise of the"
    return f"Importance: {change} {measure(result)}, times the largest weight allowed ({limit})"


def _made_up(result: Result) -> str:
    harmful = max(result.effects, key=lambda effect: effect.importance)
    return made_up(result, harmful)


def _range(result: Result) -> str:
    """Return the range of importances; without classes, or for rows, they are sums."""
    if result.score is None:
        return "[0, ∞)"
    count = 1 if result.similarity.size else len(result.cohorts)
    return f"[0, {result.motion.weight_limit * count:.4g}]"


def _low_agreement(result: Result) -> list[str]:
    """Return a remark on effects that less than half of the searches found."""
    rare = [
        f"{shorten(clean(effect.feature), 24)} ({effect.search_result.agreement:.0%})"
        for effect in result.effects
        if effect.search_result.agreement is not None and effect.search_result.agreement < 0.5
    ]
    return [f"Found by less than half of the searches: {', '.join(rare[:3])}"] if rare else []
