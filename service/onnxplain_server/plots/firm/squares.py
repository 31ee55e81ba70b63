"""Heat map of FIRM's pairs of features, with a row of the single features above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.methods.firm import Result
from onnxplain_server.methods.firm.result import PairGrid
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, identifiers, short_names, shorten
from onnxplain_server.plots.elements.number_formats import data_number, share_format
from onnxplain_server.plots.elements.style import PLOT_WIDTH, Spec
from onnxplain_server.plots.units.naming import spoken

_MAX_LITERALS = 30
_MAX_OUTPUTS = 2
_JOINTS = {
    "CONJUNCTION": "both hold",
    "DISJUNCTION": "one or both hold",
    "EXCLUSIVE_OR": "exactly one holds",
    "PRODUCT": "their product",
}
DIVERGING = ("#0072B2", "#f7f7f7", "#D55E00")
"""Colours below 0, at 0 and above 0."""


def plots(result: Result) -> Iterator[Plot]:
    """Draw a square for each list of pairs."""
    names = identifiers(f"firm-pairs-{one.combination.lower()}" for one in result.pair_grids)
    for name, literals in zip(names, result.pair_grids, strict=True):
        yield _square(result, literals, name)


def _square(result: Result, literals: PairGrid, name: str) -> Plot:
    outputs = range(min(_MAX_OUTPUTS, len(result.output_names)))
    kept = _strongest(result, literals)
    labels = tuple(short_names((literals.names[i] for i in kept), 42).values())
    reach = _reach(result, literals)
    blocks = [_block(result, literals, kept, labels, output, reach) for output in outputs]
    names = [result.output_names[k] for k in outputs]
    title = (
        f"Importance of pairs ({_JOINTS[literals.combination]}) for "
        f"{spoken(names, len(result.output_names))}"
    )
    remarks = ["Above: each feature by itself; below: pairs. Above 0 the score rises with them"]
    if len(kept) < len(literals.names):
        remarks.append(f"{len(kept)} most important of {len(literals.names)} features")
    if len(outputs) < len(result.output_names):
        remarks.append(f"First {len(outputs)} of {len(result.output_names)} outputs")
    sentences = [title, _finding(result, literals), *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    body = {"hconcat": blocks, "spacing": 40} if len(blocks) > 1 else blocks[0]
    return finish(name, title, [_finding(result, literals), *remarks], description, body)


def _strongest(result: Result, literals: PairGrid) -> list[int]:
    """Return the literals whose pairs are most important, in their order."""
    sizes = np.zeros(len(literals.names))
    for i, j, place in literals.cells:
        size = np.nan_to_num(np.abs(result.importances[place].values)).max()
        sizes[[i, j]] = np.maximum(sizes[[i, j]], size)
    strongest: list[int] = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_LITERALS]).tolist()
    return strongest


def _reach(result: Result, literals: PairGrid) -> float:
    """Return the largest absolute value shown, for a scale that is symmetric around 0."""
    places = [*literals.singles, *(place for _, _, place in literals.cells)]
    sizes = np.abs([result.importances[place].values[:_MAX_OUTPUTS] for place in places])
    return data_number(float(np.nanmax(sizes, initial=0.0)) or 1.0)


def _block(  # noqa: PLR0917 - a block shows all of these
    result: Result,
    literals: PairGrid,
    kept: Sequence[int],
    labels: Sequence[str],
    output: int,
    reach: float,
) -> Spec:
    """Draw one output: a row of features above the square of pairs."""
    label_of = dict(zip(kept, labels, strict=True))
    singles = [_cell(label_of[i], "alone", result, literals.singles[i], output) for i in kept]
    pairs = [
        _cell(label_of[a], label_of[b], result, at, output)
        for i, j, at in literals.cells
        if i in label_of and j in label_of
        for a, b in ((i, j), (j, i))
    ]
    side = max(14, min(44, PLOT_WIDTH // len(kept)))
    output_name = shorten(clean(result.output_names[output]), 40)
    row = _cells(singles, list(labels), ["alone"], side, reach)
    square = _cells(pairs, list(labels), list(labels), side, reach)
    row["encoding"]["x"]["axis"] = None
    heading = {"title": {"text": output_name, "fontSize": 12, "anchor": "middle"}}
    return {"vconcat": [{**row, **heading}, square], "spacing": 8}


def _cell(first: str, second: str, result: Result, at: int, output: int) -> Spec:
    importance = result.importances[at]
    value = float(importance.values[output])
    return {
        "first": first,
        "second": second,
        "feature": clean(importance.feature),
        "value": data_number(value) if np.isfinite(value) else None,
    }


def _cells(
    rows: list[Spec],
    columns: list[str],
    lines: list[str],
    side: int,
    reach: float,
) -> Spec:
    scale = {"domain": [-reach, 0, reach], "range": list(DIVERGING), "type": "linear"}
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 0}
    values = np.array([row["value"] or 0.0 for row in rows])
    return {
        "data": {"values": rows},
        "width": {"step": side},
        "height": {"step": side},
        "mark": {"type": "rect", "stroke": "white"},
        "encoding": {
            "x": {"field": "first", "type": "nominal", "sort": columns,
                  "scale": {"domain": columns}, "axis": {**axis, "labelAngle": -45}},
            "y": {"field": "second", "type": "nominal", "sort": lines, "scale": {"domain": lines},
                  "axis": axis},
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": scale,
                "legend": {"title": "importance"},
            },
            "tooltip": tooltip(
                ("feature", "feature", ""), ("value", "importance", share_format(values))
            ),
        },
    }  # fmt: skip


def _finding(result: Result, literals: PairGrid) -> str:
    """Name the strongest pair of the first output."""
    pairs = [result.importances[place] for _, _, place in literals.cells]
    sizes = [float(np.nan_to_num(np.abs(pair.values[0]))) for pair in pairs]
    leading = leaders(np.array(sizes))
    if len(leading) != 1:
        return "No pair stands out"
    return f"{shorten(clean(pairs[leading[0]].feature), 60)} is strongest"
