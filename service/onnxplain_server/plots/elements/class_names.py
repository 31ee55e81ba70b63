"""Classes of a target as pictures tell them: where they are called otherwise than the outputs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.plots.elements.chart import SUBTITLE_WIDTH, Plot
from onnxplain_server.plots.elements.labels import clean, enumerate_words, shorten

_MOST_CLASSES = 6


def with_classes(plots: Sequence[Plot], pairings: Sequence[ClassPairing]) -> tuple[Plot, ...]:
    """Tell in subtitles and descriptions how classes were paired with outputs."""
    told = _sentence(pairings)
    return tuple(_with_remark(plot, told) for plot in plots) if told else tuple(plots)


def _sentence(pairings: Sequence[ClassPairing]) -> str:
    """Say which output scores which class; empty where their names say so."""
    if all(pairing.label == pairing.output_name for pairing in pairings):
        return ""
    is_only = not all(pairing.output_name for pairing in pairings)
    shown = [_words(pairing, is_only=is_only) for pairing in pairings[:_MOST_CLASSES]]
    if len(pairings) > _MOST_CLASSES:
        shown.append(f"{len(pairings) - _MOST_CLASSES} more")
    return f"Classes of the target: {enumerate_words(shown)}."


def _words(pairing: ClassPairing, *, is_only: bool) -> str:
    label, output = (shorten(clean(text)) for text in (pairing.label, pairing.output_name))
    if not pairing.output_name:
        return f"{label} is 0"
    return f"{label} is 1 of the output {output}" if is_only else f"{label} is the output {output}"


def _with_remark(plot: Plot, remark: str) -> Plot:
    title = plot.vega_lite["title"]
    lines = [*title["subtitle"], *textwrap.wrap(remark, SUBTITLE_WIDTH)]
    description = f"{plot.description} {remark}"
    spec = plot.vega_lite | {"title": title | {"subtitle": lines}, "description": description}
    return replace(plot, description=description, vega_lite=spec)
