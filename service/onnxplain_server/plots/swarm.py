"""What moving features does, as pictures: importances, each class in detail, and confusions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.swarm import Effect, Result
from onnxplain_server.plots import swarm_detail, swarm_similarity
from onnxplain_server.plots.bars import Words, draw
from onnxplain_server.plots.chart import Plot, finish
from onnxplain_server.plots.ranking import counts, finding, strongest
from onnxplain_server.plots.style import MOST_SERIES
from onnxplain_server.plots.words import clean, identifiers, shorten

_TITLE = "Importance by how little must be moved"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw importances, and, where rows are moved by class, each class and their similarity."""
    bars = (_importances(result),)
    if any(effect.row_index is not None for effect in result.effects):
        return bars
    drawn = _strongest(result.cohorts)
    names = identifiers(f"swarm-{effects[0].class_name}" for effects in drawn)
    details = tuple(
        swarm_detail.plot(result, effects, name) for effects, name in zip(drawn, names, strict=True)
    )
    return (*bars, *details, *swarm_similarity.plots(result))


def _strongest(cohorts: Sequence[tuple[Effect, ...]]) -> list[tuple[Effect, ...]]:
    """Keep the classes that break most, in their order."""
    harm = [sum(effect.found.drop for effect in effects) for effects in cohorts]
    kept = np.sort(np.argsort(-np.array(harm), kind="stable")[:MOST_SERIES])
    return [cohorts[place] for place in kept]


def _importances(result: Result) -> Plot:
    """Draw a bar per feature and class; per feature alone without classes, or for single rows."""
    by_class = bool(result.similarity.size)
    if by_class:
        parts = [[effect.importance for effect in effects] for effects in result.cohorts]
        names = tuple(effects[0].class_name for effects in result.cohorts)
        values = np.array(parts).T
    else:
        names, values = ("all rows used",), result.importances[:, None]
    bars = strongest([(name,) for name in result.features], values, names)
    remarks = [
        "Orders features by harm, and those that do the same harm by how little they are moved",
        *counts("feature", bars, len(names)),
        *_unsure(result),
    ]
    sentences = [f"{_TITLE}: {finding(bars)}", *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    body = draw(bars, Words("feature", "importance", "class"), "Importance")
    return finish("swarm-importance", _TITLE, remarks, description, body)


def _unsure(result: Result) -> list[str]:
    """Name what few searches have found."""
    rare = [
        f"{shorten(clean(effect.feature), 24)} ({effect.found.agreement:.0%})"
        for effect in result.effects
        if effect.found.agreement is not None and effect.found.agreement < 0.5
    ]
    return [f"Found by less than half of the searches: {', '.join(rare[:3])}"] if rare else []
