"""Probe rows of a remote model: few rows whose answers tell whether it is still the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from onnxplain_server.adapters.runner.remote.answers import differing_rows
from onnxplain_server.adapters.runner.remote.model import RefusedRowError, RemoteModel
from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.rows import dtype_of
from onnxplain_server.core.table import listed

_MADE_UP = (0.0, 1.0, 0.5, -1.0)
_NAMED_ROWS = 5
_INCONSISTENT = "The model is not a function of the row: "


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """Rows to ask for, distinct.

    Attributes
    ----------
    feeds : mapping of input name to (n_rows, width)
    source : (n_rows,) or None
        Positions in the table; None for made-up rows.
    """

    feeds: Mapping[str, Array]
    source: Indices | None = None

    def __len__(self) -> int:
        return len(next(iter(self.feeds.values())))

    def ask(self, model: RemoteModel) -> Array:
        """Ask for the rows in one call, past what the request remembers: (n_rows, n_outputs).

        Raises
        ------
        ExplainError
            Those of `RemoteModel.ask`; a row of the table that is refused by its number.
        """
        try:
            return model.ask(self.feeds)
        except RefusedRowError as refused:
            if self.source is None:
                raise
            raise refused.at(self._position(refused.feeds)) from None

    def check_unchanged(self, model: RemoteModel, answers: Array) -> None:
        """Ask again, and raise REMOTE_MODEL_CHANGED for other answers."""
        differing = differing_rows(self.ask(model), answers, same_call=True)
        if differing:
            raise ExplainError(
                Reason.REMOTE_MODEL_CHANGED,
                f"the model gives {self._names(differing)} other answers than at the start of the "
                "request: it was replaced on the way, or its replicas differ. Numbers of two "
                "models would be mixed, so there is no answer, and nothing of it was cached; send "
                "the request again",
                "model.remote",
            )

    def inconsistency(self, model: RemoteModel, answers: Array, threads: ThreadPoolExecutor) -> str:
        """Ask for the rows again, and for each alone; describe other answers, empty if none."""
        again = differing_rows(self.ask(model), answers, same_call=True)
        if again:
            reason = "the same rows got different answers in two calls"
            return f"{_INCONSISTENT}{reason}, in {self._names(again)}."
        if len(self) < 2:
            return ""
        singles = [self._row(i) for i in range(len(self))]
        alone = np.concatenate([*threads.map(model.ask, singles)])
        differing = differing_rows(alone, answers, same_call=False)
        if not differing:
            return ""
        reason = "its answer for a row depends on the rows beside it"
        return f"{_INCONSISTENT}{reason}, in {self._names(differing)}."

    def _row(self, position: int) -> Mapping[str, Array]:
        return {name: values[position : position + 1] for name, values in self.feeds.items()}

    def _names(self, positions: Sequence[int]) -> str:
        if self.source is None:
            return f"{len(positions)} of {len(self)} made-up rows"
        rows = tuple(str(self.source[position]) for position in positions[:_NAMED_ROWS])
        more = f" and {len(positions) - len(rows)} more" * (len(positions) > len(rows))
        return f"rows {listed(rows)}{more} (counted from 0) of the table"

    def _position(self, feeds: Mapping[str, Array]) -> int:
        """Return the position in the table of one of the rows."""
        for i in range(len(self)):
            row = self._row(i)
            if all(row[name].tolist() == feeds[name].tolist() for name in feeds):
                return int(self.source[i]) if self.source is not None else i
        return 0


def made_up(inputs: Sequence[Input]) -> Probes:
    """Make rows up for a model without a table: each of one number, or of its text."""
    return Probes({each.name: _made_up(each.width or 1, dtype_of(each.type)) for each in inputs})


def _made_up(width: int, dtype: np.dtype[np.generic]) -> Array:
    rows = np.array(_MADE_UP)[:, None].repeat(width, axis=1)
    if dtype.kind == "O":
        return rows.astype(str).astype(object)
    return (np.abs(rows) if dtype.kind == "u" else rows).astype(dtype)
