"""Remote model as `core.model.Model`: rows in, answers out, in calls that its server takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from copy import copy

import numpy as np

from onnxplain_server.adapters.runner.remote.call_slots import CallSlots
from onnxplain_server.adapters.runner.remote.row_memo import RowMemo, distinct_rows
from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input, Note
from onnxplain_server.core.remote.models import RemotePredictions
from onnxplain_server.effects.batch_size import ALIGNMENT
from onnxplain_server.trees.reading.refusal import Refusal

_FLOAT32 = 2.0**-24
_SHOWN_VALUES = 8


class RemoteModel:
    """Model that answers at an address, for one request.

    Parameters
    ----------
    calls : RemotePredictions
    slots : CallSlots
        Taken by each call.
    inputs : tuple of Input
    output_names : tuple of str
        Empty: counted, once rows were predicted.

    Attributes
    ----------
    asked_row_count : int
        Rows that its server was asked for.
    inconsistency : str
        Why its answers are not reliable; empty if the probe rows show nothing.
    """

    trees = Refusal("the model is behind an address, so nobody here can read its trees")
    is_affine = False
    size_dependent_operators: tuple[str, ...] = ()

    def __init__(
        self,
        calls: RemotePredictions,
        slots: CallSlots,
        inputs: tuple[Input, ...],
        output_names: tuple[str, ...] = (),
    ) -> None:
        self.inputs = inputs
        self.output_names = output_names
        self.has_class_scores = False
        self.is_binary = False
        self.notes: tuple[Note, ...] = ()
        self.inconsistency = ""
        self._calls = calls
        self._slots = slots
        self._memo: RowMemo | None = None
        self._looks_up = True
        self._counted = _Count()

    @property
    def asked_row_count(self) -> int:
        return self._counted.rows

    @property
    def roundings(self) -> Vector:
        """Roundings of float32: an answer's type does not tell in which its sums were taken."""
        return np.full(len(self.output_names), _FLOAT32)

    @property
    def unremembered(self) -> RemoteModel:
        """The same model, asked for each row anew: to measure its pace."""
        asked = copy(self)
        asked._looks_up = False  # noqa: SLF001 - its own copy
        return asked

    def named(self, output_names: tuple[str, ...], *, has_class_scores: bool) -> None:
        """Take what probe rows show of its outputs; its rows are remembered from here."""
        self.output_names = output_names
        self.has_class_scores = has_class_scores
        self.is_binary = has_class_scores and len(output_names) == 2
        self._memo = RowMemo(len(output_names))

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:  # noqa: ARG002 - nothing is certain
        """Return no feature: what a remote model ignores cannot be proved."""
        return frozenset()

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows, but for those that the request has asked for; see `Model.predict`."""
        memo, count = self._memo, _count(feeds)
        if memo is None:
            return self.ask(feeds)
        keys = memo.keys(feeds)
        answers = np.empty((count, len(self.output_names)))
        is_known = memo.find(keys, answers) if self._looks_up else np.zeros(count, dtype=bool)
        unknown = np.flatnonzero(~is_known)
        asked, inverse = distinct_rows(keys[unknown]) if self._looks_up else (None, None)
        asked = unknown if asked is None else unknown[asked]
        if not len(asked):
            return answers
        is_all = len(asked) == count
        fresh = self.ask(feeds if is_all else _rows(feeds, asked))
        memo.keep(keys[asked], fresh)
        if is_all:
            return fresh
        answers[unknown] = fresh if inverse is None else fresh[inverse]
        return answers

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        """Return a function that predicts rows of these buffers, as `Model.on_buffers`."""
        return lambda rows: self.predict({name: each[rows] for name, each in buffers.items()})

    def ask(self, feeds: Mapping[str, Array]) -> Array:
        """Ask the server for rows, in calls of at most its `row_limit`.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED, with a row that is refused; REMOTE_MODEL_ANSWER for another number
            of rows or columns; those of `RemotePredictions.predict`.
        """
        parts = [self._call(_rows(feeds, rows)) for rows in self._spans(_count(feeds))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _spans(self, count: int) -> list[slice]:
        """Cut rows into calls, none of a few rows at the end where the limit allows it."""
        limit = max(1, self._calls.row_limit)
        if 2 * ALIGNMENT <= limit < count < limit + ALIGNMENT:
            return [slice(0, limit - ALIGNMENT), slice(limit - ALIGNMENT, count)]
        return [slice(start, min(start + limit, count)) for start in range(0, count, limit)]

    def _call(self, feeds: Mapping[str, Array]) -> Array:
        count = _count(feeds)
        self._counted.add(count)
        try:
            with self._slots.taken():
                answers = self._calls.predict(feeds)
        except ExplainError as error:
            if error.reason is not Reason.PREDICTION_FAILED:
                raise
            raise self._refused(feeds, error) from None
        names = self.output_names
        is_shaped = answers.ndim == 2 and len(answers) == count and answers.shape[1] > 0
        if not is_shaped or (names and answers.shape[1] != len(names)):
            raise ExplainError(
                Reason.REMOTE_MODEL_ANSWER,
                f"the model answered {count} rows by numbers of shape {answers.shape}; "
                f"expected are {count} rows of {len(names) or 'some'} columns",
                "model.remote",
            )
        return answers

    def _refused(self, feeds: Mapping[str, Array], error: ExplainError) -> ExplainError:
        """Name a row that the server refuses; found by halves of the call."""
        while (count := _count(feeds)) > 1:
            half = _rows(feeds, slice(0, count // 2))
            self._counted.add(_count(half))
            try:
                with self._slots.taken():
                    self._calls.predict(half)
                feeds = _rows(feeds, slice(count // 2, None))
            except ExplainError as failed:
                if failed.reason is not Reason.PREDICTION_FAILED:
                    raise
                feeds, error = half, failed
        return RefusedRowError(feeds, self.inputs, error.message)


class RefusedRowError(ExplainError):
    """PREDICTION_FAILED for a row that the server of a model refuses."""

    def __init__(
        self, feeds: Mapping[str, Array], inputs: tuple[Input, ...], cause: str, where: str = ""
    ) -> None:
        self.feeds, self.inputs, self.cause = feeds, inputs, cause
        row = where or f"a row with {_shown(feeds, inputs)}"
        super().__init__(
            Reason.PREDICTION_FAILED, f"the model's server refuses {row}: {cause}", "model.remote"
        )

    def at(self, row: int) -> RefusedRowError:
        """Return the error for a row of the table."""
        where = f"row {row} (counted from 0) of the table, with {_shown(self.feeds, self.inputs)}"
        return RefusedRowError(self.feeds, self.inputs, self.cause, where)


class _Count:
    """Number of rows that threads add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.rows = 0

    def add(self, rows: int) -> None:
        with self._lock:
            self.rows += rows


def _count(feeds: Mapping[str, Array]) -> int:
    return len(next(iter(feeds.values())))


def _rows(feeds: Mapping[str, Array], rows: slice | Indices) -> Mapping[str, Array]:
    return {name: values[rows] for name, values in feeds.items()}


def _shown(feeds: Mapping[str, Array], inputs: tuple[Input, ...]) -> str:
    """Show the values of a row, by the names of its columns where they are known."""
    values = [
        (name, value)
        for each in inputs
        for name, value in zip(_names(each, feeds), feeds[each.name][0].tolist(), strict=True)
    ]
    shown = [f"{name} = {value!r}" for name, value in values[:_SHOWN_VALUES]]
    return ", ".join([*shown, "…"] if len(values) > _SHOWN_VALUES else shown)


def _names(each: Input, feeds: Mapping[str, Array]) -> tuple[str, ...]:
    width = feeds[each.name].shape[1]
    if len(each.columns) == width:
        return each.columns
    return (each.name,) if width == 1 else tuple(f"{each.name}[{j}]" for j in range(width))
