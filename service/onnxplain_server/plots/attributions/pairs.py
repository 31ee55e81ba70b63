"""Main effects of features and interactions of pairs as a matrix, where these were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions.measures import (
    interaction_sizes,
    main_effect_sizes,
    mean_sizes,
)
from onnxplain_server.plots.attributions.words import result_kind
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, quoted
from onnxplain_server.plots.marks.bars import JOINT, Bars, labels_of
from onnxplain_server.plots.marks.ranking import finding, strongest, strongest_outputs
from onnxplain_server.plots.matrices.cells import Cell, CellWords, Content, draw
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import value_unit

_MOST_FEATURES = 12
_WORDS = (
    CellWords(("Mean size of a main", "effect (diagonal)"), "feature", "mean absolute main effect"),
    CellWords(("Mean size of the", "interaction of a pair"), "pair", "mean absolute interaction"),
)


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw one plot, "attributions-pairs"; none without pairs, or for a single row."""
    if not result.pairs or result.explained_row_count < 2:
        return ()
    sizes = mean_sizes(result)
    outputs = strongest_outputs(sizes)
    order = np.argsort(-sizes[:, outputs].sum(axis=1), kind="stable")
    return (_draw(result, order[:_MOST_FEATURES], outputs),)


def _draw(result: Result, players: Indices, outputs: Indices) -> Plot:
    names = [" + ".join(quoted(clean(n), "+") for n in own) for own in result.features]
    shown = {*players.tolist()}
    at = np.array([shown.issuperset(pair) for pair in result.pairs])
    pairs = [pair for pair in result.pairs if shown.issuperset(pair)]
    sizes = interaction_sizes(result)[at][:, outputs]
    told = tuple(result.output_names[k] for k in outputs)
    bars = strongest([(names[i], names[j]) for i, j in pairs], sizes, told)
    effects = main_effect_sizes(result)[np.ix_(players, outputs)]
    content = Content(
        labels=labels_of([result.features[p] for p in players], " + "),
        places={str(p): place for place, p in enumerate(players.tolist())},
        diagonal=_cells([(p,) for p in players.tolist()], names, effects),
        pairs=_cells(pairs, names, sizes),
        outputs=dict(enumerate(bars.outputs)),
        words=_WORDS,
    )
    remarks = [_finding(bars, is_cut=len(players) < len(names)), *_remarks(result, content)]
    outputs_told = spoken(bars.outputs, len(result.output_names))
    title = f"{result_kind(result)} of {outputs_told} by pairs of features"
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish("attributions-pairs", title, remarks, description, draw(content))


def _cells(members: Sequence[tuple[int, ...]], names: list[str], sizes: Matrix) -> tuple[Cell, ...]:
    return tuple(
        Cell(tuple(map(str, own)), JOINT.join(quoted(names[p], JOINT) for p in own), row)
        for own, row in zip(members, sizes, strict=True)
    )


def _finding(bars: Bars, *, is_cut: bool) -> str:
    pairs = "the pairs shown" if is_cut else "all pairs"
    return f"Of {pairs}, {finding(bars)}" if bars.nonzero else f"None of {pairs} interacts"


def _remarks(result: Result, content: Content) -> Iterator[str]:
    """Yield remarks on what cells mean, and on features, outputs and values not shown."""
    yield "Diagonal: main effects, values less half of all interactions; other cells: interactions"
    yield (
        f"Mean sizes over {result.explained_row_count:,} rows, each counted once "
        f"({value_unit(result.output_names)})"
    )
    shown = len(content.labels)
    if shown < len(result.features):
        yield f"{shown} of {len(result.features)} features, those of the largest values"
    if len(content.outputs) < len(result.output_names):
        count = len(result.output_names)
        yield f"{len(content.outputs)} of {count} outputs, those of the largest values"
    broken, count = content.broken()
    if broken:
        yield f"Grey: not finite, {broken} of {count} values"
    if any((content.sizes(output)[k] == 0).any() for output in content.outputs for k in (0, 1)):
        yield "0: no more than rounding of the predictions"
