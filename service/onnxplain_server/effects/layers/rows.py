"""Rows of a background as the tensors that the rest of a model reads, with features moved."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.rows import feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.layers.model import FirstLayers, LayerSums

Move: TypeAlias = tuple[Indices | None, Array] | None
"""What to put into rows without some features: numbers to add, (n_points, n_values), or places and
values there; None where the features have no part."""
Moves: TypeAlias = list[Move]
"""For each tensor."""

_BLOCK_NUMBERS = 1 << 22
"""Values that the front computes at once, which bounds memory."""
_MOST_KNOWN = 4
"""Backgrounds whose parts are held at a time."""
_FLOATS = np.errstate(invalid="ignore", over="ignore")
"""Values that are not finite are the model's."""


class LayeredRows:
    """Rows whose features are moved one after the other.

    Parameters
    ----------
    first : FirstLayers
    background : Background

    Notes
    -----
    The front computes each distinct value of a feature once. Sums are kept in float64: those
    without some features are what is left when their terms are subtracted, rounded once to the
    type of the model, and moving adds terms that were rounded once. So a sum has three roundings
    beside those of float64, wherever the runtime has one for each column.
    """

    def __init__(self, first: FirstLayers, background: Background) -> None:
        self.first = first
        self.background = background

    def __len__(self) -> int:
        return len(self.background)

    @cached_property
    def _terms(self) -> Mapping[int, list[Array | None]]:
        """Parts at each feature's distinct values."""
        return self._computed(dict(enumerate(self.background.levels)))

    @_FLOATS
    def _computed(self, values: Mapping[int, Array]) -> dict[int, list[Array | None]]:
        """Compute the parts of features at values, (n_values,) each in the model's types.

        Each value of the front is computed from one feature, whatever the others are. So one call
        computes the parts of all features at as many values as the feature with most has.
        """
        background, count = self.background, max(map(len, values.values()))
        width = sum(map(len, self.first.features))
        step = max(1, _BLOCK_NUMBERS // max(width, 1))
        blocks: dict[int, list[list[Array | None]]] = {j: [] for j in values}
        for start in range(0, count, step):
            rows = np.arange(start, min(start + step, count))
            columns = [
                values[j][np.minimum(rows, len(values[j]) - 1)]
                if j in values
                else np.repeat(background.columns[j][:1], len(rows))
                for j in range(len(background.columns))
            ]
            front = self.first.front(feeds(background.features, columns))
            for j, own in values.items():
                if start < len(own) or not blocks[j]:
                    kept = [each[: len(own) - start] for each in front]
                    blocks[j].append(self.first.terms(j, kept))
        return {j: _joined(parts) for j, parts in blocks.items()}

    @cached_property
    @_FLOATS
    def _totals(self) -> list[Array]:
        """Tensors of the rows: (n, n_values); sums in float64."""
        n, terms = len(self), self._terms
        totals: list[Array] = []
        for number, tensor in enumerate(self.first.tensors):
            if isinstance(tensor.source, LayerSums):
                total = np.tile(tensor.source.offset, (n, 1))
                for j, parts in terms.items():
                    if (part := parts[number]) is not None:
                        total += part[self.background.codes[j]]
            else:
                total = tensor.buffer(n)
                for j, parts in terms.items():
                    if (part := parts[number]) is not None:
                        total[:, self.first.places(j, tensor)] = part[self.background.codes[j]]
            totals.append(total)
        return totals

    @_FLOATS
    def without(self, features: Sequence[int]) -> list[Array]:
        """Return the tensors of the rows without parts of features: (n, n_values), for `move`."""
        kept = []
        pairs = zip(self.first.tensors, self._totals, strict=True)
        for number, (tensor, total) in enumerate(pairs):
            if isinstance(tensor.source, LayerSums):
                rest = total
                for j in features:
                    if (part := self._terms[j][number]) is not None:
                        rest = rest - part[self.background.codes[j]]
                kept.append(rest.astype(tensor.dtype))
            else:
                kept.append(total)
        return kept

    def own_parts(self, features: Sequence[int], rows: Indices) -> Moves:
        """Return the parts that features have in rows."""
        codes = self.background.codes
        return self._moves(
            {
                j: [None if part is None else part[codes[j][rows]] for part in self._terms[j]]
                for j in features
            }
        )

    def parts_at(self, features: Sequence[int], points: Sequence[Array]) -> Moves:
        """Compute the parts of features at points: (n_points,) each in the model's types."""
        return self._moves(self._computed(dict(zip(features, points, strict=True))))

    @_FLOATS
    def _moves(self, parts: Mapping[int, list[Array | None]]) -> Moves:
        moves: Moves = []
        for number, tensor in enumerate(self.first.tensors):
            own = {j: each for j, all_ in parts.items() if (each := all_[number]) is not None}
            if not own:
                moves.append(None)
            elif isinstance(tensor.source, LayerSums):
                total = sum(own.values(), np.zeros(1))
                moves.append((None, total.astype(tensor.dtype)))
            else:
                places = [self.first.places(j, tensor) for j in own]
                values = np.concatenate(list(own.values()), axis=1)
                moves.append((np.concatenate(places), values))
        return moves


class KnownRows:
    """First layers for one request, with the rows that it used last.

    Parameters
    ----------
    first : FirstLayers
    """

    def __init__(self, first: FirstLayers) -> None:
        self.first = first
        self._lock = threading.Lock()
        self._known: dict[int, LayeredRows] = {}

    def rows(self, background: Background) -> LayeredRows:
        """Return rows as what follows the first layers takes them."""
        with self._lock:
            known = self._known.get(id(background))
            if known is None:
                known = LayeredRows(self.first, background)
                if len(self._known) == _MOST_KNOWN:
                    self._known.clear()
                self._known[id(background)] = known  # which holds the background
            return known


@_FLOATS
def put(kept: Array, move: Move) -> Array:
    """Put parts into rows without some features: (n, n_values), a part for each row."""
    made = kept.copy()
    if move is not None:
        places, parts = move
        if places is None:
            made += parts
        else:
            made[:, places] = parts
    return made


def _joined(blocks: Sequence[list[Array | None]]) -> list[Array | None]:
    """Join the parts of blocks of values."""
    return [
        None if parts[0] is None else np.concatenate([part for part in parts if part is not None])
        for parts in zip(*blocks, strict=True)
    ]
