"""Faults of stores, as callers of a server see them: clear errors, and repetitions that help."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import onnxplain
import pytest

from tools.stores.faults import Fault
from tools.stores.faulty_server import FaultyServer

pytestmark = pytest.mark.slow

MODEL, ROWS = "s3://models/model.onnx", "s3://rows/parquet/year=2026/rows.parquet"
LOSS = onnxplain.AverageLoss()
COLUMNS: Any = {"target_column": "y", "feature_columns": [f"x{index}" for index in range(1, 7)]}
ALWAYS = 1_000_000
SECONDS = 60.0
SHORT_SECONDS = 3.0

Ask = Callable[..., object]


@pytest.fixture(scope="module")
def server(lasting_serve: Callable[..., Any], listed: Any, s3_proxy: FaultyServer) -> Any:
    # Without space for uploads, no model is kept, and each request downloads.
    return lasting_serve(sources_file=listed(s3_proxy.url), upload_bytes=0)


@pytest.fixture
def client(server: Any, s3_proxy: FaultyServer) -> Iterator[onnxplain.Client]:
    s3_proxy.traffic.clear()
    with onnxplain.connect(server.endpoint, retry_count=0) as connected:
        yield connected
    s3_proxy.faults.clear()


@pytest.fixture(params=["model", "table"])
def ask(request: Any, client: onnxplain.Client, case: tuple[bytes, bytes]) -> Ask:
    """A call that reads one file by its URI, and the part of its address that faults are for."""

    def model(timeout: float = SECONDS) -> object:
        return client.describe(MODEL, timeout=timeout)

    def table(timeout: float = SECONDS) -> object:
        return client.plan(case[0], ROWS, LOSS, timeout=timeout, **COLUMNS)

    return {"model": model, "table": table}[request.param]


@pytest.fixture
def name(ask: Ask) -> str:
    return "model.onnx" if ask.__name__ == "model" else "rows.parquet"


def refused(ask: Ask, timeout: float = SECONDS) -> onnxplain.ExplainError:
    with pytest.raises(onnxplain.ExplainError) as raised:
        ask(timeout)
    return raised.value


def test_throttling_that_passes_is_waited_for(ask: Ask, name: str, s3_proxy: FaultyServer) -> None:
    s3_proxy.faults.add(Fault(name, status=503, count=2))

    assert ask()
    assert [exchange.status for exchange in s3_proxy.traffic.of(name)][:2] == [503, 503]


def test_throttling_that_lasts_is_told(ask: Ask, name: str, s3_proxy: FaultyServer) -> None:
    s3_proxy.faults.add(Fault(name, status=503, count=ALWAYS))

    error = refused(ask)

    assert error.reason == "SOURCE_UNAVAILABLE"
    assert "503" in str(error)
    assert len(s3_proxy.traffic.of(name)) > 2


def test_throttling_beyond_the_deadline_is_late(
    ask: Ask, name: str, s3_proxy: FaultyServer
) -> None:
    s3_proxy.faults.add(Fault(name, status=503, count=ALWAYS))

    assert refused(ask, timeout=0.4).reason == "DEADLINE_EXCEEDED"


def test_a_connection_that_is_cut_is_asked_again(
    ask: Ask, name: str, s3_proxy: FaultyServer
) -> None:
    s3_proxy.faults.add(Fault(name, method="GET", cut_after=1_000))

    assert ask()


def test_a_connection_that_is_always_cut_is_told(
    ask: Ask, name: str, s3_proxy: FaultyServer
) -> None:
    s3_proxy.faults.add(Fault(name, method="GET", cut_after=1_000, count=ALWAYS))

    assert refused(ask).reason == "SOURCE_UNAVAILABLE"


@pytest.fixture(scope="module")
def hasty(lasting_serve: Callable[..., Any], listed: Any, s3_proxy: FaultyServer) -> Any:
    """A server that lets no request take long: callers wait for its answer."""
    return lasting_serve(
        sources_file=listed(s3_proxy.url), max_seconds=SHORT_SECONDS, running_count=1, extra_count=0
    )


@pytest.mark.parametrize("name", ["model.onnx", "rows.parquet"])
def test_a_store_slower_than_the_deadline_is_late(
    name: str, hasty: Any, s3_proxy: FaultyServer, case: tuple[bytes, bytes]
) -> None:
    never = threading.Event()
    s3_proxy.faults.add(Fault(name, count=ALWAYS, held_by=never))
    model = MODEL if name == "model.onnx" else case[0]
    with (
        onnxplain.connect(hasty.endpoint, retry_count=0) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        late = threads.submit(client.plan, model, ROWS, LOSS, **COLUMNS)
        # Whoever waits for a store holds no turn: others compute.
        assert client.describe(case[0]).digest
        with pytest.raises(onnxplain.ExplainError) as raised:
            late.result()
    never.set()
    s3_proxy.faults.clear()

    assert raised.value.reason == "DEADLINE_EXCEEDED"
    assert "while the source was read" in str(raised.value)


def test_a_slow_store_within_the_deadline_is_waited_for(
    ask: Ask, name: str, s3_proxy: FaultyServer
) -> None:
    held = threading.Event()
    s3_proxy.faults.add(Fault(name, count=1, held_by=held))
    threading.Timer(1.0, held.set).start()

    assert ask()


def test_an_object_that_changes_between_two_reads_is_refused(
    ask: Ask, name: str, s3_proxy: FaultyServer, s3: Any, case: Any
) -> None:
    bucket, path = ("models", name) if name == "model.onnx" else ("rows", ROWS[len("s3://rows/") :])
    before = (s3.folder / bucket / path).read_bytes()
    s3_proxy.faults.add(
        Fault(name, method="GET", before=lambda: s3.put(bucket, path, before + b"\0"))
    )

    error = refused(ask)

    s3.put(bucket, path, before)
    assert error.reason == "SOURCE_CHANGED"


@pytest.mark.parametrize("uri", ["s3://locked/model.onnx", "s3://locked/other.onnx"])
def test_missing_rights_are_told_without_keys(client: onnxplain.Client, uri: str) -> None:
    error = refused(lambda timeout: client.describe(uri, timeout=timeout))

    assert error.reason == "SOURCE_FORBIDDEN"
    assert "403" in str(error)
    assert "secret" not in str(error)


def test_a_plan_by_uri_is_that_of_the_same_rows(client: onnxplain.Client, case: Any) -> None:
    model, table = case
    asked = (onnxplain.Interactions(), onnxplain.AverageLoss())

    by_uri = client.plan(MODEL, ROWS, *asked, **COLUMNS)
    sent = client.plan(model, table, *asked, **COLUMNS)

    assert by_uri.predicted_row_count == sent.predicted_row_count
    assert [each.name for each in by_uri.methods] == [each.name for each in sent.methods]
