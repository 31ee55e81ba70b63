"""Drawing of a method's result, as its module in `plots` declares it by `DRAWING`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.units.naming import Naming


def with_output_names(result: Any, naming: Naming) -> Any:
    """Give the outputs of a result their names in plots."""
    return replace(result, output_names=naming.named(result.output_names))


def _not_compared(_result: Any, _other: Any) -> tuple[Plot, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Drawing of a method's result.

    Attributes
    ----------
    plots : callable (Result) -> tuple of Plot
        Takes the result of `beside`, too, where an answer has one.
    named : callable (Result, Naming) -> Result
        Gives outputs and classes their names in plots.
    beside : str
        Method whose first result the same plots show; empty for none.
    compared_with : str
        Method whose result stands side by side with this one in a plot more; empty for none.
    compare : callable (Result, that method's Result) -> tuple of Plot
    """

    plots: Callable[..., tuple[Plot, ...]]
    named: Callable[[Any, Naming], Any] = with_output_names
    beside: str = ""
    compared_with: str = ""
    compare: Callable[[Any, Any], tuple[Plot, ...]] = _not_compared
