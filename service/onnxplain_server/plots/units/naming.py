"""Names of the model and its outputs in titles, axes and tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from onnxplain_server.methods.classes import ClassPairing, parse_number
from onnxplain_server.plots.elements.chart import TITLE_WIDTH, Plot, wrapped
from onnxplain_server.plots.elements.labels import clean, enumerate_words, shorten
from onnxplain_server.plots.units.prediction_units import TARGET_UNITS, TOTAL, OutputNames, Units

_MARGIN = " (margin)"
_MAX_NAMED = 3
_MAX_LETTERS = 34
"""Of a name in a title."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names of the model and its outputs.

    Attributes
    ----------
    model_name : str
        Of the model; may be empty.
    outputs : mapping of str to str
        Names of outputs in plots and tables, where they differ from those in the model.
    is_margin : bool
        Whether predictions are explained on the scale MARGIN.
    units : Units
    """

    model_name: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    is_margin: bool = False
    units: Units = TARGET_UNITS

    def output(self, name: str) -> str:
        """Return the name of an output or a class in plots and tables, whatever its scale."""
        return self.outputs.get(name, name)

    def named(self, names: Sequence[str]) -> OutputNames:
        """Return the names of explained outputs in plots and tables: "ill", or "ill (margin)"."""
        scale = _MARGIN * self.is_margin
        own = (
            name if name == TOTAL else f"{self.output(name).removesuffix(scale)}{scale}"
            for name in names
        )
        return OutputNames.of(own, self.units)


_NO_NAME = re.compile(
    r"(variable|output|out|predictions?|predicted|target|result|y|y_hat|yhat|dense|linear|gemm|add|"
    r"addmm|matmul|identity|squeeze|reshape|sigmoid|exp|float_output|main_output)?[_:.-]?\d*(:\d+)?",
    re.IGNORECASE,
)
"""Names of outputs that say nothing of them: those that converters give, and those of operators."""


def output_labels(
    names: Sequence[str],
    *,
    are_classes: bool,
    pairings: Sequence[ClassPairing] = (),
    target: str = "",
) -> dict[str, str]:
    """Name outputs that the model only numbers, or the only one, to which it gives no name.

    Parameters
    ----------
    names : sequence of str
        Names of the outputs in the model.
    are_classes : bool
        Whether they score classes: "1" becomes "class 1".
    pairings : sequence of ClassPairing
        Labels of the target's classes: the output "1" paired with "ill" becomes "ill".
    target : str
        Column of the true values of the only output; empty without any.
    """
    if target and len(names) == 1 and _NO_NAME.fullmatch(names[0]):
        return {names[0]: target}
    labels = {pairing.output_name: pairing.label for pairing in pairings if len(pairings) > 1}
    found = {}
    for name in names:
        if parse_number(name) is None:
            continue
        label = labels.get(name, name)
        kind = "class" if are_classes else "output"
        found[name] = label if parse_number(label) is None else f"{kind} {name}"
    return found


def spoken(shown: Sequence[str], count: int) -> str:
    """Return "a and b" for a title: the outputs that a plot shows, of `count` in all."""
    if len(shown) > _MAX_NAMED:
        return f"{len(shown)} outputs" + (f" of {count}" if len(shown) < count else "")
    return enumerate_words([shorten(clean(name), _MAX_LETTERS) for name in shown])


def class_phrase(name: str) -> str:
    """Return "class setosa"; a name that begins with "class" stays as it is."""
    text = shorten(clean(name))
    return text if text.startswith("class ") else f"class {text}"


def with_model(plot: Plot, model_name: str) -> Plot:
    """Add the name of the model to the title; nothing if it has none."""
    if not model_name:
        return plot
    name = shorten(clean(model_name), 40)
    title = f"{plot.title} · {name}"
    description = title + plot.description.removeprefix(plot.title)
    lines = [title] if len(title) <= TITLE_WIDTH else [*wrapped([plot.title], TITLE_WIDTH), name]
    spec = plot.vega_lite
    spec = spec | {
        "title": spec["title"] | {"text": lines},
        "description": description,
        "usermeta": spec["usermeta"] | {"title": title},
    }
    return replace(plot, title=title, description=description, vega_lite=spec)
