"""Dask clusters that are not there: told at once, with the address."""

from __future__ import annotations

import pytest
from onnxplain_server.core.errors import ExplainError, Reason

from tools.ports import free_port

dask_client = pytest.importorskip(
    "onnxplain_server.adapters.cluster.dask_client", reason="needs the extra dask"
)


@pytest.mark.parametrize("host", ["127.0.0.1", "scheduler.invalid"])
def test_a_scheduler_that_is_not_there_is_told_before_dask_tries_for_long(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_client, "Client", lambda *_given, **_options: pytest.fail("asked"))
    address = f"tcp://{host}:{free_port()}"

    with pytest.raises(ExplainError, match="cannot be reached") as caught:
        dask_client.connect(address)

    assert caught.value.reason is Reason.UNAVAILABLE
    assert address in caught.value.message
