"""Calls of operations: a caller sees its own only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operations import NewOperation, owner_key
from onnxplain_server.transport.operations import operation_calls
from onnxplain_server.transport.operations.operation_calls import OperationCalls


def test_operations_of_another_caller_do_not_exist() -> None:
    store = MemoryOperations()
    name = f"operations/{store.start(owner_key('ada'), NewOperation(b'')).id}"
    service: Any = SimpleNamespace(operations=store, is_stopping=False)
    calls = OperationCalls(service)

    assert [one.name for one in calls.list("ada", "", 0, "").operations] == [name]
    assert not calls.list("bob", "", 0, "").operations
    for call in (
        lambda: calls.get("bob", name),
        lambda: calls.wait("bob", name, 0, lambda: False),
        lambda: next(calls.follow("bob", name, lambda: False)),
        lambda: calls.cancel("bob", name),
        lambda: calls.delete("bob", name),
        lambda: calls.response_parts("bob", name),
    ):
        with pytest.raises(ExplainError) as caught:
            call()
        assert caught.value.reason is Reason.OPERATION_NOT_FOUND
    assert not calls.get("ada", name).done


def test_who_has_gone_follows_no_longer() -> None:
    """An operation that nobody computes never changes, so nothing else would end it."""
    store = MemoryOperations()
    name = f"operations/{store.start(owner_key('ada'), NewOperation(b'')).id}"
    service: Any = SimpleNamespace(operations=store, is_stopping=False)
    calls = OperationCalls(service)

    assert len(list(calls.follow("ada", name, lambda: True))) == 1
    for _ in range(operation_calls.WAIT_LIMIT):
        assert calls._waits.acquire(blocking=False)
