"""Parts of a result on their way to the process that writes them."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from onnxplain_server.adapters.network_processes.clocked_socket import ClockedSocket
from onnxplain_server.adapters.sources.fetch_protocol import (
    PART_BYTES,
    receive_parts,
    send_parts,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.request_control import RequestControl

from tools.waiting import PATIENCE_SECONDS


@pytest.fixture
def ends() -> Iterator[tuple[ClockedSocket, socket.socket]]:
    """The server's end, and that of the process."""
    near, far = socket.socketpair()
    with ClockedSocket(near, time.monotonic() + PATIENCE_SECONDS) as ours, far:
        yield ours, far


def test_parts_come_whole(ends: tuple[ClockedSocket, socket.socket]) -> None:
    ours, far = ends
    parts = [b"PAR1", bytes(range(256)) * (PART_BYTES // 100), b"", b"end"]
    with ThreadPoolExecutor(1) as threads:
        received = threads.submit(lambda: [*receive_parts(far)])
        send_parts(ours, parts, RequestControl(math.inf))

        assert b"".join(received.result()) == b"".join(parts)
        assert max(map(len, received.result())) == PART_BYTES


def test_a_request_ends_amid_a_part_that_no_store_takes(
    ends: tuple[ClockedSocket, socket.socket],
) -> None:
    is_told: list[bool] = []

    def is_disconnected() -> bool:
        """The caller goes at the second look."""
        is_told.append(True)
        return len(is_told) > 1

    with pytest.raises(ExplainError) as ended:
        send_parts(ends[0], [bytes(8 * PART_BYTES)], RequestControl(math.inf, is_disconnected))
    assert ended.value.reason is Reason.CANCELLED


def test_a_process_that_has_answered_and_gone_is_sent_no_more(
    ends: tuple[ClockedSocket, socket.socket],
) -> None:
    ours, far = ends
    far.close()

    send_parts(ours, [bytes(8 * PART_BYTES)], RequestControl(math.inf))
