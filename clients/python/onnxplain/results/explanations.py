"""Response of a call: one result per method, model, receipt and warnings."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import TypeVar, overload

from onnxplain.display import overview
from onnxplain.results import origins
from onnxplain.results.by_method import READERS, Result, ResultsByMethod
from onnxplain.results.canonical_json import from_json, to_json
from onnxplain.results.comparisons import ExplanationComparison
from onnxplain.results.plots import Plot
from onnxplain.results.provenance import ModelDescription, Receipt
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation

_REPORT_GROUP = "onnxplain.report"

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

    def __eq__(self, other: object) -> bool:
        """Compare the messages; all NaN are equal."""
        if not isinstance(other, Explanations):
            return NotImplemented
        # Messages compare the bits of NaN, of which JSON keeps none; its maps are in any order.
        documents = (json.loads(each.to_json()) for each in (self, other))
        return bool(self.message == other.message) or operator.eq(*documents)

    __hash__ = None  # type: ignore[assignment] # the message can change

    def __repr__(self) -> str:
        """Name the results and the model."""
        names = ", ".join(type(result).__name__ for result in self._results)
        message = self.message
        model = message.receipt.model_name or message.model.digest or "a model"
        return f"<Explanations [{names}] of {model}>"

    @property
    def plots(self) -> tuple[Plot, ...]:
        """The plots of all results, in their order."""
        return tuple(plot for result in self._results for plot in result.plots)

    def plot(self, name: str | None = None) -> Plot:
        """Return the plot of that name, or the only one; LookupError, with all names, otherwise.

        Examples
        --------
        >>> explanation.plot("pairwise")
        """
        plots = [plot for plot in self.plots if name in {None, plot.name}]
        if len(plots) != 1:
            names = ", ".join(plot.name for plot in self.plots) or "none"
            called = "there" if name is None else f"called {name!r}"
            raise LookupError(f"{len(plots)} plots are {called}; there are: {names}")
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
    def summary(self) -> tuple[str, ...]:
        """Findings in sentences; empty from servers that do not tell any.

        Examples
        --------
        >>> explanation.summary[0]
        'model.onnx predicts price; it is explained on 500 rows.'
        """
        return tuple(self.message.summary)

    @property
    def comparison(self) -> ExplanationComparison | None:
        """The answer beside the `reference` of the request; None without one."""
        if not self.message.HasField("comparison"):
            return None
        return ExplanationComparison.from_message(self.message.comparison)

    @property
    def warnings(self) -> tuple[origins.Warning, ...]:
        """Warnings about the numbers."""
        return tuple(origins.Warning.from_message(w) for w in self.message.warnings)

    def to_json(self) -> str:
        """Write the whole response as the contract's canonical JSON."""
        return to_json(self.message)

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanations:
        """Read what `to_json`, REST or `onnxplain explain --output json` wrote.

        Raises
        ------
        ValueError
            Where it is something else, or the answer of a newer version.
        """
        return cls(from_json(text, ExplainResponse()))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the answer to a file, as `to_json` does; `onnxplain.load` reads it.

        Examples
        --------
        >>> explanation.save("explanation.json")
        >>> onnxplain.load("explanation.json") == explanation
        True
        """
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Write a page to send, and return it.

        With the server's package (`onnxplain-server`) in this environment, it is the report of
        `onnxplain explain --output html`, which loads nothing. Otherwise it has all plots, as a
        notebook shows them, and all tables: it loads nothing with `onnxplain[notebook]`; without,
        Vega after a click.

        Parameters
        ----------
        path : path, optional
            File to write. Default: none.
        """
        reports = entry_points(group=_REPORT_GROUP)
        if reports:
            page = str(next(iter(reports)).load()(self.message))
        else:
            name = self.message.receipt.model_name
            title = f"Explanation of {name}" if name else "Explanation"
            page = overview.page(title, self._sections(), self)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        return overview.overview(self._sections(), self)

    def _sections(self) -> list[tuple[str, Result]]:
        """Return each result with a title: its method, in words."""
        methods = (explanation.WhichOneof("result") for explanation in self.message.explanations)
        titles = (str(method).replace("_", " ").capitalize() for method in methods)
        return list(zip(titles, self._results, strict=True))

    def _only(self, kind: type[_ResultType]) -> _ResultType:
        results = [result for result in self._results if isinstance(result, kind)]
        if len(results) != 1:
            raise LookupError(
                f"{len(results)} of the {len(self)} results are {kind.__name__}: "
                "take the one you want by its index"
            )
        return results[0]


def load(path: str | PathLike[str]) -> Explanations:
    """Read an answer from a file of `Explanations.save`, or of `onnxplain explain --output json`.

    Raises
    ------
    OSError, ValueError
        Where the file cannot be read, or holds something else.
    """
    return Explanations.from_json(Path(path).read_bytes())


def _read(explanation: Explanation) -> Result:
    method = explanation.WhichOneof("result") or "unknown"
    if method not in READERS:
        raise ValueError(
            f"this version of onnxplain cannot read the result of the method {method!r}; "
            "update it, or take the messages of the response by client.messages"
        )
    return READERS[method](explanation)
