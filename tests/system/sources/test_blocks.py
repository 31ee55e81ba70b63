"""Tables that a server reads in blocks: of a store, by ranges through its processes; uploaded."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf.json_format import MessageToJson

from tools.stores.faults import Fault
from tools.stores.faulty_server import FaultyServer
from tools.stores.https_server import Site, https_server

MODEL = Path(__file__).parents[2] / "models/sklearn_gradient_boosting.onnx"
COUNT = 5 * 65_536 + 1_000
MEMORY_BYTES = 136_000_000
"""Above what streaming needs, below the estimate of the table's."""
ASKED = (
    onnxplain.Interactions(pairwise_feature_count=3),
    onnxplain.PartialDependence(features=["c0"], grid_size=3),
    onnxplain.AverageLoss(),
    onnxplain.Firm(),
    onnxplain.IndividualConditionalExpectation(features=["c1"], grid_size=3),
)
PATH = "/rows/rows.parquet"
ADDRESS = "s3://rows/rows.parquet"
TABLE = onnxplain.TableUris(ADDRESS)
MIB = 2**20

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def parquet() -> bytes:
    """A table in small row groups, with a column that no question needs."""
    file = io.BytesIO()
    unread = pa.array(np.random.default_rng(1).normal(size=COUNT))
    pq.write_table(rows(COUNT).append_column("unread", unread), file, row_group_size=50_000)
    return file.getvalue()


def rows(count: int) -> pa.Table:
    rng = np.random.default_rng(0)
    names = [*(f"c{j}" for j in range(10)), "y"]
    return pa.table({name: rng.integers(0, 50, count) / np.float32(4) for name in names})


@pytest.fixture(scope="module")
def path(parquet: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    path.write_bytes(parquet)
    return path


@pytest.fixture(scope="module")
def expected(path: Path) -> onnxplain.Explanations:
    """Answer of one process that reads the file in blocks."""
    with onnxplain.local(memory_bytes=MEMORY_BYTES) as client:
        return explained(client, onnxplain.TableUris(f"file://{path}"))


@pytest.fixture
def store(parquet: bytes) -> Iterator[tuple[Site, FaultyServer]]:
    """A store with the table; as S3 it has objects by bucket and name."""
    site = Site({PATH: parquet})
    with https_server(site) as server:
        yield site, server


@pytest.fixture
def server(serve: Callable[..., Any], store: Any, tmp_path: Path) -> Any:
    """A server that reads from the store, and whole tables of 1 MiB only."""
    listed = tmp_path / "sources.toml"
    listed.write_text(
        f'[[source]]\nprefix = "s3://rows/"\nendpoint = "{store[1].url}"\n'
        'networks = ["127.0.0.0/8"]\n'
    )
    return serve(sources_file=listed, memory_bytes=MEMORY_BYTES, max_table_bytes=MIB)


def explained(client: Any, table: Any, **asked: Any) -> onnxplain.Explanations:
    names = [f"c{j}" for j in range(10)]
    found: onnxplain.Explanations = client.explain(
        MODEL, table, *ASKED, feature_columns=names, target_column="y", **asked
    )
    return found


def fetcher_of(server: Any) -> int:
    (found,) = [
        pid
        for pid in server.children()
        if b"fetch_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return int(found)


def check_same(found: onnxplain.Explanations, expected: onnxplain.Explanations) -> None:
    assert "TABLE_STREAMED" in {warning.code for warning in found.warnings}
    for order in ("overall", "pairwise", "importance"):
        for ours, theirs in zip(
            getattr(found.interactions, order), getattr(expected.interactions, order), strict=True
        ):
            assert ours.numerators.tobytes() == theirs.numerators.tobytes()
    assert plain(found) == plain(expected)


def plain(found: onnxplain.Explanations) -> list[str]:
    """Return all numbers of an answer, as JSON."""
    return [MessageToJson(each) for each in found.message.explanations]


def test_a_table_of_a_store_has_the_bits_of_its_local_file(
    server: Any, parquet: bytes, expected: Any
) -> None:
    with onnxplain.connect(server.endpoint) as client:
        found = explained(client, TABLE)

    check_same(found, expected)
    (source,) = found.receipt.sources
    assert source.uri == ADDRESS
    assert source.read_byte_count > len(parquet) // 2


def test_an_uploaded_table_has_the_bits_of_its_local_file(
    serve: Callable[..., Any], path: Path, expected: Any
) -> None:
    server = serve(memory_bytes=MEMORY_BYTES)
    with onnxplain.connect(server.endpoint) as client:
        found = explained(client, path)

    check_same(found, expected)


def test_a_table_in_blocks_is_not_planned(server: Any) -> None:
    with (
        onnxplain.connect(server.endpoint) as client,
        pytest.raises(onnxplain.ExplainError, match="memory_bytes") as refused,
    ):
        client.plan(MODEL, TABLE, ASKED[0])

    assert refused.value.reason == "TABLE_TOO_LARGE"


def test_a_process_that_fetches_and_dies_is_replaced(
    server: Any, store: Any, expected: Any
) -> None:
    killed: list[int] = []

    def kill() -> None:
        killed.append(fetcher_of(server))
        os.kill(killed[0], signal.SIGKILL)

    after_some_ranges(store, before=kill)
    with onnxplain.connect(server.endpoint) as client:
        found = explained(client, TABLE)

    check_same(found, expected)
    assert fetcher_of(server) not in killed


def test_a_table_that_changes_on_the_way_is_refused(server: Any, store: Any) -> None:
    site, _ = store
    other = bytes(len(site.objects[PATH]))
    after_some_ranges(store, before=lambda: site.objects.update({PATH: other}))
    with (
        onnxplain.connect(server.endpoint) as client,
        pytest.raises(onnxplain.ExplainError) as refused,
    ):
        explained(client, TABLE)

    assert refused.value.reason == "SOURCE_CHANGED"


def test_a_store_that_hangs_costs_its_request_only(server: Any, store: Any) -> None:
    after_some_ranges(store, held_by=threading.Event())
    with onnxplain.connect(server.endpoint) as client:
        with pytest.raises(onnxplain.ExplainError) as late:
            explained(client, TABLE, timeout=30)
        store[1].faults.clear()
        again = client.explain(MODEL, rows(10), onnxplain.AverageLoss(), target_column="y")

    assert late.value.reason == "DEADLINE_EXCEEDED"
    assert again.average_loss.losses[0].values


def after_some_ranges(store: Any, **fault: Any) -> None:
    """Let a fault happen once the computation reads."""
    store[1].faults.add(Fault(PATH, method="GET", count=15))
    store[1].faults.add(Fault(PATH, method="GET", **fault))
