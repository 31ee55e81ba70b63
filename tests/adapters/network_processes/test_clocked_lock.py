"""Lock under a deadline: a request does not wait for a process that another one starts."""

from __future__ import annotations

import threading

import pytest
from onnxplain_server.adapters.network_processes.clocked_lock import held
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.request_control import RequestControl


def test_who_waits_for_the_start_of_a_process_ends_at_its_deadline() -> None:
    lock = threading.Lock()
    with held(lock, RequestControl(600)):
        with pytest.raises(ExplainError) as late, held(lock, RequestControl(0)):
            pass
        assert late.value.reason is Reason.DEADLINE_EXCEEDED
        assert lock.locked()

    assert not lock.locked()
