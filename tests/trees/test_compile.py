"""How loops are compiled."""

from typing import Any

import numba
import numpy as np
import pytest
from onnxplain_server.trees.compile import kernel, lowest, popcount


def test_kernels_compile_in_memory_where_no_directory_can_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiler = numba.njit

    def njit(*given: Any, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return compiler(*given, **options)

    monkeypatch.setattr(numba, "njit", njit)
    assert kernel(lambda number: number + 1)(2) == 3


@kernel
def bits_of(word: Any) -> tuple[int, int]:
    return popcount(word), lowest(word)


@pytest.mark.parametrize("places", [(0,), (63,), (5, 17, 40), tuple(range(64))])
def test_bits_of_a_word(places: tuple[int, ...]) -> None:
    word = np.uint64(sum(1 << place for place in places))
    assert bits_of(word) == (len(places), places[0])
