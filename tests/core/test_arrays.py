"""Encoding of arrays for the cache: lossless, and damaged bytes are rejected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from onnxplain_server.core.arrays import pack, unpack


@given(arrays.arrays(np.float64, arrays.array_shapes(min_dims=1, max_dims=3, min_side=0)))
def test_what_is_packed_comes_back_bit_by_bit(values: np.ndarray) -> None:
    back = unpack(pack(values), values.shape)

    assert back is not None
    assert back.dtype == np.float64
    assert back.tobytes() == values.tobytes()


def test_the_format_is_magic_version_rank_shape_and_little_endian_numbers() -> None:
    assert pack(np.array([1.0, -2.0])) == (
        b"ONXP\x01\x01"
        + (2).to_bytes(8, "little")
        + bytes.fromhex("000000000000f03f00000000000000c0")
    )


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_makes_no_difference(order: str) -> None:
    values = np.asarray(np.arange(6.0).reshape(2, 3), order=order)  # type: ignore[call-overload]

    assert pack(values) == pack(np.arange(6.0).reshape(2, 3))


WHOLE = pack(np.arange(6.0).reshape(2, 3))


@given(st.integers(0, len(WHOLE) - 1))
def test_a_shortened_value_is_absent(length: int) -> None:
    assert unpack(WHOLE[:length], (2, 3)) is None


@pytest.mark.parametrize("byte", range(6 + 16))
def test_a_value_with_a_damaged_header_is_absent(byte: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[byte] ^= 1

    assert unpack(bytes(damaged), (2, 3)) is None


@pytest.mark.parametrize("shape", [(3, 2), (6,), (1, 6), (2, 3, 1), (2, 2), ()])
def test_a_value_of_another_shape_is_absent(shape: tuple[int, ...]) -> None:
    assert unpack(WHOLE, shape) is None


def test_a_value_with_something_after_it_is_absent() -> None:
    assert unpack(WHOLE + b"\x00", (2, 3)) is None


def test_what_comes_back_may_be_written_to() -> None:
    back = unpack(WHOLE, (2, 3))

    assert back is not None
    assert back.flags.writeable
