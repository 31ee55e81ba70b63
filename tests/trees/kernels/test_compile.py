"""Bit instructions of compiled kernels."""

import numpy as np
import pytest
from onnxplain_server.trees.kernels.compile import kernel, lowest, popcount


@kernel
def bits_of(word) -> tuple[int, int]:
    return popcount(word), lowest(word)


@pytest.mark.parametrize("places", [(0,), (63,), (5, 17, 40), tuple(range(64))])
def test_popcount_and_lowest_set_bit(places: tuple[int, ...]) -> None:
    word = np.uint64(sum(1 << place for place in places))
    assert bits_of(word) == (len(places), places[0])
