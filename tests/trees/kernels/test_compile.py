"""Kernels: the types that they accept, and bit instructions."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from onnxplain_server.core.arrays import Array, Int32Matrix, Vector
from onnxplain_server.trees.kernels.compile import kernel
from onnxplain_server.trees.kernels.small_functions import lowest, popcount


@kernel
def bits_of(words: Vector, place: int) -> tuple[int, int]:
    word = words.view(np.uint64)[place]
    return popcount(word), lowest(word)


@pytest.mark.parametrize("places", [(0,), (63,), (5, 17, 40), tuple(range(64))])
def test_popcount_and_lowest_set_bit(places: tuple[int, ...]) -> None:
    word = np.uint64(sum(1 << place for place in places))

    assert bits_of(np.array([word]).view(np.float64), 0) == (len(places), places[0])
    assert (popcount(word), lowest(word)) == (len(places), places[0])


class Sized(NamedTuple):
    rows: Int32Matrix
    size: int
    ends: tuple[float, bool]


@kernel
def add_up(sized: Sized) -> float:
    total = sized.ends[0] if sized.ends[1] else 0.0
    for i in range(sized.size):
        total += sized.rows[i, 0]
    return total


def fixed(rows: Array) -> Array:
    rows.flags.writeable = False
    return rows


ROWS = np.ones((3, 2), np.int32)


@pytest.mark.parametrize("size", [3, np.int64(3), np.int32(3)])
@pytest.mark.parametrize("first", [2.5, np.float64(2.5)])
@pytest.mark.parametrize("adds", [True, np.bool_(True)])
def test_a_kernel_accepts_what_its_annotations_say(size, first, adds) -> None:
    assert add_up(Sized(ROWS.copy(), size, (first, adds))) == 5.5


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(Sized(ROWS.astype(np.int64), 3, (2.5, True)), id="long numbers"),
        pytest.param(Sized(ROWS.astype(np.float32), 3, (2.5, True)), id="floats of equal size"),
        pytest.param(Sized(ROWS[:, 0], 3, (2.5, True)), id="one dimension"),
        pytest.param(Sized(ROWS.T, 2, (2.5, True)), id="columns first"),
        pytest.param(Sized(ROWS[:, :1], 3, (2.5, True)), id="every other number"),
        pytest.param(Sized(fixed(ROWS.copy()), 3, (2.5, True)), id="read-only"),
        pytest.param(Sized(ROWS, 3.0, (2.5, True)), id="float for int"),  # type: ignore[arg-type]
        pytest.param(Sized(ROWS, 3, (2, True)), id="int for float"),
        pytest.param(Sized(ROWS, 3, (2.5, 1)), id="int for bool"),  # type: ignore[arg-type]
        pytest.param(Sized(ROWS, 3, (2.5,)), id="short tuple"),  # type: ignore[arg-type]
        pytest.param((ROWS, 3, (2.5, True)), id="another tuple"),
        pytest.param([ROWS, 3, (2.5, True)], id="list"),
    ],
)
def test_a_kernel_refuses_all_other_types(wrong) -> None:
    """Compiled code would read them as garbage."""
    with pytest.raises(TypeError, match="add_up is not compiled for such sized"):
        add_up(wrong)


def test_an_annotation_that_leaves_the_type_open_is_refused() -> None:
    def open_type(rows: Array) -> None:
        del rows

    with pytest.raises(TypeError, match="no type that a kernel accepts"):
        kernel(open_type)


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from onnxplain_server.trees.kernels.compile import kernel

@kernel
def twice(number: int) -> int:
    return 2 * number
"""


def test_without_numba_and_without_compiled_kernels_the_cure_is_named() -> None:
    """No module has the code of this kernel; numba set to None is as if it were missing."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, check=False
    )

    assert "ImportError: onnxplain-server was installed without compiled" in done.stderr
    assert 'pip install "onnxplain-server[jit]"' in done.stderr
