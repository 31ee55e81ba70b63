"""Frames between a computation and the process that calls; garbage is no answer."""

from __future__ import annotations

import json
import socket
import struct
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    pack_error,
    receive,
    unpack_error,
)
from onnxplain_server.adapters.remote_server import call_frames as frames
from onnxplain_server.adapters.remote_server.call_frames import (
    ANSWERED,
    ASKED,
    REASONS,
)
from onnxplain_server.adapters.remote_server.columns import (
    pack_feeds,
    pack_predictions,
    unpack_feeds,
    unpack_predictions,
)
from onnxplain_server.adapters.remote_server.descriptions import (
    pack_description,
    unpack_description,
)
from onnxplain_server.core.counts.remote_counts import CallCounts
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import UNTOLD, RemoteDescription
from onnxplain_server.core.rows import INPUT_TYPES

NUMBERS = st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
NAMES = st.text(max_size=8)


@st.composite
def feeds(draw: Any) -> dict[str, Any]:
    rows = draw(st.integers(1, 5))
    columns = {}
    for name in draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)):
        shape = (rows, draw(st.integers(1, 3)))
        if draw(st.booleans()):
            values = np.empty(shape, object)
            for index in np.ndindex(shape):
                values[index] = draw(st.text(max_size=5))
        else:
            values = draw(st_numpy.arrays(draw(NUMBERS), shape))
        columns[name] = values
    return columns


@given(feeds())
def test_rows_come_as_they_went(rows: Any) -> None:
    found = unpack_feeds(b"".join(pack_feeds(rows)), 5)

    assert list(found) == list(rows)
    for name, values in rows.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("kind", INPUT_TYPES)
def test_rows_of_each_input_type_can_be_sent(kind: Any) -> None:
    dtype = {"float": "f4", "double": "f8", "string": "O"}.get(kind, kind)
    values = np.full((2, 1), "a" if kind == "string" else 1).astype(dtype)

    assert unpack_feeds(b"".join(pack_feeds({"x": values})), 2)["x"].dtype == values.dtype


@given(st_numpy.arrays(st.sampled_from(["f4", "f8"]), st.tuples(st.just(3), st.integers(1, 4))))
def test_predictions_come_as_they_went(values: Any) -> None:
    found = unpack_predictions(b"".join(pack_predictions(values)), 3)

    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_an_array_does_not_matter(order: Any) -> None:
    values = np.asarray(np.arange(6.0).reshape(2, 3), order=order)

    np.testing.assert_array_equal(
        unpack_predictions(b"".join(pack_predictions(values)), 2), [[0, 1, 2], [3, 4, 5]]
    )


@given(feeds(), st.data())
def test_damaged_rows_are_refused_or_are_rows(rows: Any, data: Any) -> None:
    content = bytearray(b"".join(pack_feeds(rows)))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = unpack_feeds(content[: data.draw(st.integers(0, len(content)))], 5)
    except BrokenError:
        return
    assert 1 <= len({len(values) for values in found.values()}) <= 1


def block(code: int, rows: int, width: int, content: bytes, name: bytes = b"x") -> bytes:
    head = struct.pack("<IIBIIQ", 1, len(name), code, rows, width, len(content))
    return head + name + content


FLOAT64 = 11
STRINGS = 255


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<I", 0),
        struct.pack("<I", 2**32 - 1),
        block(FLOAT64, 1, 1, b"1234567"),
        block(FLOAT64, 2**32 - 1, 2**32 - 1, b"12345678"),
        block(FLOAT64, 0, 1, b""),
        block(FLOAT64, 6, 1, bytes(48)),
        block(FLOAT64, 1, 0, b""),
        block(12, 1, 1, b"12345678"),
        block(0, 1, 1, b"\x02"),
        block(FLOAT64, 1, 1, bytes(8), b"\xff"),
        block(FLOAT64, 1, 1, bytes(8)) + b"more",
        block(STRINGS, 1, 1, b"\0\0\0\0"),
        block(STRINGS, 1, 1, struct.pack("<II", 0, 2) + b"a"),
        block(STRINGS, 1, 1, struct.pack("<II", 1, 1) + b"a"),
        block(STRINGS, 2, 1, struct.pack("<III", 0, 2, 1) + b"a"),
        block(STRINGS, 1, 1, struct.pack("<II", 0, 1) + b"\xff"),
        block(STRINGS, 2**32 - 1, 2**32 - 1, b"\0\0\0\0"),
    ],
)
def test_content_that_breaks_the_protocol_is_refused(content: bytes) -> None:
    with pytest.raises(BrokenError):
        unpack_feeds(content, 5)


@pytest.mark.parametrize(
    "values", [np.zeros((2, 1)), np.zeros((3, 0)), np.zeros((3, 1), "i8"), np.zeros((3, 1), "?")]
)
def test_predictions_of_another_shape_or_type_are_refused(values: Any) -> None:
    with pytest.raises(BrokenError):
        unpack_predictions(b"".join(pack_predictions(values)), 3)


DESCRIPTION = RemoteDescription(
    (Input("x", "float", 2, ("a", "b")), Input("s", "string", None), UNTOLD),
    ("no", "yes"),
    "3",
    "sklearn",
)


def test_a_description_comes_as_it_went() -> None:
    assert unpack_description(pack_description(DESCRIPTION)) == DESCRIPTION


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        [[], [], "", 1],
        [[["x", "float", -1, [], ""]], [], "", ""],
        [[["x", "float", True, [], ""]], [], "", ""],
        [[["x", "float", 1.5, [], ""]], [], "", ""],
        [[["x", 1, 1, [], ""]], [], "", ""],
        [[["x", "float", 1, [1], ""]], [], "", ""],
        [[["x", "float", 1, [], 1]], [], "", ""],
        [[], [1], "", ""],
        [["x"], [], "", ""],
    ],
)
def test_other_documents_are_no_description(document: Any) -> None:
    with pytest.raises(BrokenError):
        unpack_description(json.dumps(document).encode())


def test_an_error_and_counts_come_as_they_went() -> None:
    error = ExplainError(Reason.REMOTE_MODEL_UNAVAILABLE, "later", "model", retry_seconds=2)
    found = unpack_error(pack_error(error), REASONS)

    assert (found.reason, found.message) == (error.reason, "later")
    assert (found.field, found.retry_seconds) == ("model", 2.0)
    assert frames.unpack_counts(frames.pack_counts(CallCounts(1, 2, 3, 4))) == CallCounts(
        1, 2, 3, 4
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[" * 10_000,
        b'["NONE", "", "", null]',
        b'["UNAUTHENTICATED", "", "", null]',
        b'["DEADLINE_EXCEEDED", "", "", null]',
        b'["REMOTE_MODEL_ANSWER", "", "", NaN]',
        b'["REMOTE_MODEL_ANSWER", "", "", -1]',
        b'["REMOTE_MODEL_ANSWER", "", "", Infinity]',
        b'["REMOTE_MODEL_ANSWER", "", "", 1e300]',
        b'["REMOTE_MODEL_ANSWER", "", ""]',
        b'[["REMOTE_MODEL_ANSWER"], "", "", null]',
    ],
)
def test_other_content_is_no_error(content: bytes) -> None:
    with pytest.raises(BrokenError):
        unpack_error(content, REASONS)


@pytest.mark.parametrize("content", [b"[1, 2, 3]", b"[1, 2, 3, -1]", b"[1, 2, 3, 1.5]", b"{}", b""])
def test_other_content_is_no_count(content: bytes) -> None:
    with pytest.raises(BrokenError):
        frames.unpack_counts(content)


@pytest.mark.parametrize(
    "header",
    [
        struct.pack("<cIQ", b"?", 1, 0),
        struct.pack("<cIQ", b"p", 1, 0),
        struct.pack("<cIQ", b"D", 1, 1),
        struct.pack("<cIQ", b"P", 1, frames.CONTENT_LIMIT + 1),
        struct.pack("<cIQ", b"P", 1, 2**64 - 1),
        b"P",
    ],
)
def test_a_frame_of_another_kind_or_size_is_refused_unread(header: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(header)
        with pytest.raises(BrokenError):
            receive(ours, ASKED)


def test_memory_is_taken_as_content_comes() -> None:
    """A frame that promises much, and ends, costs what came."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(struct.pack("<cIQ", b"p", 1, frames.CONTENT_LIMIT) + b"few")
        tracemalloc.start()
        try:
            with pytest.raises(BrokenError):
                receive(ours, ANSWERED)
            assert tracemalloc.get_traced_memory()[1] < frames.CONTENT_LIMIT / 100
        finally:
            tracemalloc.stop()
