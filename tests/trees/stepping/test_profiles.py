"""Pieces of constant label on trees of one split; `test_swarm.py` covers exported models."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.stepping import profiles
from onnxplain_server.trees.stepping.profile_kernel import DOUBTFUL
from onnxplain_server.trees.stepping.profiles import Pieces, Ranges


class Alone:
    """A pool of one."""

    def run(self, function, parts) -> list[Any]:
        return [function(part) for part in parts]


# Two outputs: the first is larger up to 0, the second up to 2, and then the first again.
TREES = [((0, "LEQ", 0.0), [1.0, 0.0], [0.0, 1.0]), ((0, "LEQ", 2.0), [0.0, 0.0], [3.0, 0.0])]


def pieces(regressor, trees, value: float, *, with_outputs: bool = False) -> Pieces:
    """The pieces of one row, for all values of its only feature."""
    view = read_ensemble(regressor(trees, 1))
    assert isinstance(view, Ensemble)
    codes = np.stack([view.codes(0, np.array([value], np.float32))])
    ends = (view.codes(0, np.array([end], np.float32))[:, None] for end in (-9, 9))
    pool: Any = Alone()
    ranges = Ranges(np.array([0]), *ends)
    return profiles.profiles(view, codes, ranges, pool, with_outputs=with_outputs)


def test_a_piece_starts_where_another_output_becomes_the_largest(regressor) -> None:
    for value in (-1.0, 1.0, 5.0):
        result = pieces(regressor, TREES, value)

        assert result.label.tolist() == [0, 1, 0]
        assert np.diff(result.cell).tolist() == [1, 1]


def test_outputs_are_those_of_each_cell(regressor) -> None:
    result = pieces(regressor, TREES, 1.0, with_outputs=True)

    assert result.outputs.tolist() == [[1, 0], [0, 1], [3, 1]]


def test_nearly_equal_outputs_make_the_label_doubtful(regressor) -> None:
    equal = [((0, "LEQ", 0.0), [1.0, 1.0 + 1e-7], [0.0, 1.0])]

    assert pieces(regressor, equal, 1.0).label.tolist() == [DOUBTFUL, 1]
