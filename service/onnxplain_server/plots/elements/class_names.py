"""Remark that pairs the target's classes with outputs, for plots whose outputs have other names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.plots.elements.chart import SUBTITLE_WIDTH, Plot, wrapped
from onnxplain_server.plots.elements.labels import clean, enumerate_words, shorten

_MAX_CLASSES = 6


def with_classes(plots: Sequence[Plot], pairings: Sequence[ClassPairing]) -> tuple[Plot, ...]:
    """Add the pairing of classes with outputs to subtitles and descriptions."""
    remark = _remark(pairings)
    return tuple(_with_remark(plot, remark) for plot in plots) if remark else tuple(plots)


def _remark(pairings: Sequence[ClassPairing]) -> str:
    """Return a sentence that pairs classes with outputs; empty if their names are equal."""
    if all(pairing.label == pairing.output_name for pairing in pairings):
        return ""
    is_only = not all(pairing.output_name for pairing in pairings)
    shown = [_phrase(pairing, is_only=is_only) for pairing in pairings[:_MAX_CLASSES]]
    if len(pairings) > _MAX_CLASSES:
        shown.append(f"{len(pairings) - _MAX_CLASSES} more")
    return f"Classes of the target: {enumerate_words(shown)}."


def _phrase(pairing: ClassPairing, *, is_only: bool) -> str:
    label, output = (shorten(clean(text)) for text in (pairing.label, pairing.output_name))
    if not pairing.output_name:
        return f"{label} is 0"
    return f"{label} is 1 of the output {output}" if is_only else f"{label} is the output {output}"


def _with_remark(plot: Plot, remark: str) -> Plot:
    title = plot.vega_lite["title"]
    lines = [*title["subtitle"], *wrapped([remark], SUBTITLE_WIDTH)]
    description = f"{plot.description} {remark}"
    meta = plot.vega_lite["usermeta"]
    spec = plot.vega_lite | {
        "title": title | {"subtitle": lines},
        "description": description,
        "usermeta": meta | {"remarks": [*meta["remarks"], remark]},
    }
    return replace(plot, description=description, vega_lite=spec)
