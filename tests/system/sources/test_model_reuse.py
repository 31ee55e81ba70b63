"""Models that were fetched before: their store is asked for the version, not for the bytes."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import onnxplain
import pytest
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.model_pb2 import Model

from tools.stores.faults import Fault
from tools.stores.faulty_server import FaultyServer
from tools.waiting import until

pytestmark = pytest.mark.slow

OTHER = Path(__file__).parents[2] / "models" / "sklearn_linear.onnx"
LOSS = onnxplain.AverageLoss()
CALLS = 4


@pytest.fixture(scope="module")
def server(lasting_serve: Callable[..., Any], listed: Any, s3_proxy: FaultyServer) -> Any:
    return lasting_serve(sources_file=listed(s3_proxy.url), running_count=CALLS)


@pytest.fixture
def client(server: Any, s3_proxy: FaultyServer) -> Iterator[onnxplain.Client]:
    s3_proxy.traffic.clear()
    with onnxplain.connect(server.endpoint) as connected:
        yield connected


def downloads(s3_proxy: FaultyServer, name: str) -> list[int]:
    return [exchange.byte_count for exchange in s3_proxy.traffic.of(name, "GET")]


def test_a_model_of_the_same_etag_is_downloaded_once(
    client: onnxplain.Client, s3: Any, s3_proxy: FaultyServer, case: tuple[bytes, bytes]
) -> None:
    model, table = case
    s3.put("models", "once.onnx", model)

    answers = [
        client.explain("s3://models/once.onnx", table, LOSS, target_column="y") for _ in range(3)
    ]

    assert downloads(s3_proxy, "once.onnx") == [len(model)]
    assert len(s3_proxy.traffic.of("once.onnx", "HEAD")) == 3
    sources = [answer.receipt.sources[0] for answer in answers]
    assert [source.read_byte_count for source in sources] == [len(model), 0, 0]
    assert len({source.version for source in sources}) == 1
    assert {source.digest for source in sources} == {answers[0].model.digest}
    assert answers[0].average_loss.losses[0].values == answers[2].average_loss.losses[0].values


def test_a_model_that_changed_is_downloaded_again(
    client: onnxplain.Client, s3: Any, s3_proxy: FaultyServer, case: tuple[bytes, bytes]
) -> None:
    s3.put("models", "changing.onnx", case[0])
    before = client.describe("s3://models/changing.onnx")
    s3.put("models", "changing.onnx", OTHER.read_bytes())

    after = client.describe("s3://models/changing.onnx")

    assert downloads(s3_proxy, "changing.onnx") == [len(case[0]), OTHER.stat().st_size]
    assert before.digest != after.digest


def test_a_pin_is_checked_for_models_that_were_fetched_before(
    client: onnxplain.Client, s3: Any, case: tuple[bytes, bytes]
) -> None:
    s3.put("models", "pinned.onnx", case[0])
    client.describe("s3://models/pinned.onnx")

    with pytest.raises(onnxplain.ExplainError) as refused:
        client.describe(onnxplain.ModelUri("s3://models/pinned.onnx", sha256="0" * 64))

    assert refused.value.reason == "SOURCE_CHANGED"


def test_a_model_that_was_deleted_is_not_found(
    client: onnxplain.Client, s3: Any, case: tuple[bytes, bytes]
) -> None:
    s3.put("models", "deleted.onnx", case[0])
    client.describe("s3://models/deleted.onnx")
    (s3.folder / "models" / "deleted.onnx").unlink()

    with pytest.raises(onnxplain.ExplainError) as refused:
        client.describe("s3://models/deleted.onnx")

    assert refused.value.reason == "SOURCE_NOT_FOUND"


def test_requests_at_the_same_time_download_a_model_once(
    client: onnxplain.Client, server: Any, s3: Any, s3_proxy: FaultyServer, case: Any
) -> None:
    s3.put("models", "shared.onnx", case[0])
    released = threading.Event()
    s3_proxy.faults.add(Fault("shared.onnx", method="GET", held_by=released))

    with ThreadPoolExecutor(CALLS) as threads:
        answers = [threads.submit(client.describe, "s3://models/shared.onnx") for _ in range(CALLS)]
        until(lambda: in_flight(server) == CALLS)
        released.set()
        digests = {answer.result().digest for answer in answers}

    assert downloads(s3_proxy, "shared.onnx") == [len(case[0])]
    assert len(digests) == 1


def test_where_the_first_of_several_fails_the_next_one_fetches(
    client: onnxplain.Client, server: Any, s3: Any, s3_proxy: FaultyServer, case: Any
) -> None:
    s3.put("models", "retried.onnx", case[0])
    released = threading.Event()
    s3_proxy.faults.add(Fault("retried.onnx", method="GET", held_by=released))

    with grpc.insecure_channel(server.endpoint) as channel, ThreadPoolExecutor(1) as threads:
        asked = DescribeModelRequest(model=Model(uri="s3://models/retried.onnx"))
        first = ExplanationServiceStub(channel).DescribeModel.future(asked)
        until(lambda: len(s3_proxy.traffic.of("retried.onnx", "HEAD")) == 1)
        second = threads.submit(client.describe, "s3://models/retried.onnx")
        until(lambda: in_flight(server) == 2)

        assert first.cancel()
        assert second.result().digest
    released.set()


def in_flight(server: Any) -> int:
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics") as page:
        found = re.search(
            r"^onnxplain_in_flight_requests (\S+)", page.read().decode(), re.MULTILINE
        )
    return int(float(found[1])) if found else 0
