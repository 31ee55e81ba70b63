"""Response of a call: one result per method, model, receipt and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TypeVar, overload

from onnxplain.results import provenance
from onnxplain.results.by_method import READERS, Result, ResultsByMethod
from onnxplain.results.canonical_json import to_json
from onnxplain.results.plots import Plot
from onnxplain.results.provenance import ModelDescription, Receipt
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation

_ResultType = TypeVar("_ResultType", bound=Result)


class Explanations(ResultsByMethod, Sequence[Result]):
    """Results, in the order of the methods of the request.

    Parameters
    ----------
    message : ExplainResponse
        As the server sent it; kept as the attribute `message`.

    Examples
    --------
    >>> explanation = client.explain(model, frame, onnxplain.Interactions())
    >>> explanation.interactions.total.values
    array([0.104])
    >>> explanation.receipt.predicted_row_count
    1250500
    """

    def __init__(self, message: ExplainResponse) -> None:
        self.message = message
        self._results = tuple(_read(explanation) for explanation in message.explanations)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | Sequence[Result]:
        """Return the result of the method at `index`."""
        return self._results[index]

    def __len__(self) -> int:
        """Count the results."""
        return len(self._results)

    def __repr__(self) -> str:
        """Name the results and the model."""
        names = ", ".join(type(result).__name__ for result in self._results)
        return f"<Explanations [{names}] of {self.message.model.digest or 'a model'}>"

    @property
    def plots(self) -> tuple[Plot, ...]:
        """The plots of all results, in their order."""
        return tuple(plot for result in self._results for plot in result.plots)

    def plot(self, name: str) -> Plot:
        """Return the plot of that name; LookupError unless there is exactly one.

        Examples
        --------
        >>> explanation.plot("pairwise")
        """
        plots = [plot for plot in self.plots if plot.name == name]
        if len(plots) != 1:
            names = ", ".join(plot.name for plot in self.plots)
            raise LookupError(f"{len(plots)} plots are called {name!r}; there are: {names}")
        return plots[0]

    @property
    def model(self) -> ModelDescription:
        """The model as it was read."""
        return ModelDescription.from_message(self.message.model)

    @property
    def receipt(self) -> Receipt:
        """Provenance of the numbers."""
        return Receipt.from_message(self.message.receipt)

    @property
    def warnings(self) -> tuple[provenance.Warning, ...]:
        """Warnings about the numbers."""
        return tuple(provenance.Warning.from_message(w) for w in self.message.warnings)

    def to_json(self) -> str:
        """Write the whole response as the contract's canonical JSON."""
        return to_json(self.message)

    def _repr_html_(self) -> str:
        warnings = "".join(f"<p>⚠ {escape(warning.message)}</p>" for warning in self.warnings)
        return warnings + "".join(_html(result) for result in self._results)

    def _only(self, kind: type[_ResultType]) -> _ResultType:
        results = [result for result in self._results if isinstance(result, kind)]
        if len(results) != 1:
            raise LookupError(
                f"{len(results)} of the {len(self)} results are {kind.__name__}: "
                "take the one you want by its index"
            )
        return results[0]


def _html(result: Result) -> str:
    rows = f"<p>{result.rows}</p>" if result.rows else ""
    return f"<h4>{type(result).__name__}</h4>{rows}{result._repr_html_()}"


def _read(explanation: Explanation) -> Result:
    method = explanation.WhichOneof("result") or "unknown"
    if method not in READERS:
        raise ValueError(
            f"this version of onnxplain cannot read the result of the method {method!r}; "
            "update it, or take the messages of the response by client.messages"
        )
    return READERS[method](explanation)
