"""Batch run: evaluation of all rows in one call of a session, also on fixed buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnxruntime

from onnxplain_server.core.arrays import Array


class BatchRun:
    """Evaluation of all rows in one call of a session: a `Run`. Thread-safe.

    Parameters
    ----------
    session : InferenceSession
    outputs : sequence of str
        Names of the outputs.
    flat : frozenset of str
        Inputs that expect (n_rows,) instead of (n_rows, 1).
    values : mapping of name to array
        What the session reads and does not own.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        outputs: Sequence[str],
        flat: frozenset[str],
        values: Mapping[str, Array],
    ) -> None:
        self._session = session
        self._values = values
        self._outputs = outputs
        self._flat = flat

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        answers: list[Array] = self._session.run(self._outputs, self._shaped(feeds))
        return answers

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], list[Array]] | None:
        """Return a function that evaluates rows of these buffers, as they are when it is called.

        For one thread at a time: its next call may overwrite its answers. None where the runtime
        would read a copy of the buffers.
        """
        if not all(map(_is_read_in_place, buffers.values())):
            return None
        return _BoundRun(self._session, self._outputs, self._shaped(buffers), self._values)

    def _shaped(self, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        if not self._flat:
            return feeds
        return {
            name: rows.reshape(-1) if name in self._flat else rows for name, rows in feeds.items()
        }


class _BoundRun:
    """Calls of a session on fixed buffers of inputs and outputs, by onnxruntime's IOBinding.

    No call makes arrays, so those of a small call stay in the processor's cache. The first call is
    a plain one, which shows types and shapes of the outputs.

    Attributes
    ----------
    _held : list of arrays, or None
        Buffers of the outputs; None before the first call, empty where no output can be bound.
    _answers : list of arrays
        Their parts for the bound rows.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        outputs: Sequence[str],
        buffers: Mapping[str, Array],
        values: Mapping[str, Array],
    ) -> None:
        self._session = session
        self._values = values
        self._outputs = outputs
        self._buffers = buffers
        self._binding = session.io_binding()
        self._rows = slice(0, 0)
        self._held: list[Array] | None = None
        self._answers: list[Array] = []

    def __call__(self, rows: slice) -> list[Array]:
        if not self._held:
            return self._plain(rows)
        if rows != self._rows:
            self._bind(rows, self._held)
        try:
            self._session.run_with_iobinding(self._binding)
        except Exception:  # noqa: BLE001 - a plain call tells the fault, or answers
            return self._plain(rows)
        return self._answers

    def _plain(self, rows: slice) -> list[Array]:
        feeds = {name: buffer[rows] for name, buffer in self._buffers.items()}
        answers: list[Array] = self._session.run(self._outputs, feeds)
        if self._held is None:
            count = rows.stop - rows.start
            can_bind = all(answer.shape[:1] == (count,) for answer in answers)
            can_bind &= all(map(_is_read_in_place, answers))
            self._held = [np.empty_like(answer) for answer in answers] if can_bind else []
        return answers

    def _bind(self, rows: slice, held: list[Array]) -> None:
        count = rows.stop - rows.start
        if count > len(held[0]):
            held[:] = [np.empty((count, *each.shape[1:]), each.dtype) for each in held]
        self._answers = [each[:count] for each in held]
        for name, buffer in self._buffers.items():
            self._binding.bind_cpu_input(name, buffer[rows])
        for name, answer in zip(self._outputs, self._answers, strict=True):
            value = onnxruntime.OrtValue.ortvalue_from_numpy(answer)
            self._binding.bind_ortvalue_output(name, value)
        self._rows = rows


def _is_read_in_place(array: Array) -> bool:
    """Return whether onnxruntime uses an array's own memory, and no copy."""
    return array.dtype.kind in "biuf" and array.dtype.isnative and array.flags.c_contiguous
