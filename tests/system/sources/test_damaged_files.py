"""Files whose reading ends the process that fetches."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import onnxplain
import pytest

from tools.stores.faults import Fault
from tools.stores.faulty_server import FaultyServer

pytestmark = pytest.mark.slow

DAMAGED = Path(__file__).with_name("damaged_footer.parquet")
"""Mutant of a good file, one byte of whose footer makes pyarrow 26 call abort()."""

ROOT = Path(__file__).parents[3]
READ = """
import sys, io
from pathlib import Path
from onnxplain_server.adapters.sources.interfaces import TableQuery
from onnxplain_server.adapters.sources.table_reader import open_table
from tools.stores.readers import MemoryReader
reader = MemoryReader({"t.parquet": Path(sys.argv[1]).read_bytes()})
open_table(reader, TableQuery(None, (), 2**26)).read(None, io.BytesIO())
"""


@pytest.fixture(scope="module")
def server(lasting_serve: Callable[..., Any], listed: Any, s3_proxy: FaultyServer, s3: Any) -> Any:
    command = [sys.executable, "-c", READ, str(DAMAGED)]
    process = subprocess.run(command, check=False, cwd=ROOT, capture_output=True)
    if process.returncode >= 0:
        pytest.skip("this pyarrow does not abort at the mutant")
    s3.put("rows", "damaged.parquet", DAMAGED.read_bytes())
    return lasting_serve(sources_file=listed(s3_proxy.url))


@pytest.fixture
def client(server: Any) -> Iterator[onnxplain.Client]:
    with onnxplain.connect(server.endpoint) as connected:
        yield connected


def test_a_table_that_ends_the_process_is_invalid(client: onnxplain.Client, case: Any) -> None:
    with pytest.raises(onnxplain.ExplainError) as refused:
        client.plan(case[0], "s3://rows/damaged.parquet", onnxplain.AverageLoss())

    assert refused.value.reason == "INVALID_TABLE"
    assert "damaged" in str(refused.value)
    # The next process serves.
    assert client.describe("s3://models/model.onnx").digest


def test_other_fetches_of_the_process_are_repeated(
    client: onnxplain.Client, s3_proxy: FaultyServer, s3: Any, case: Any
) -> None:
    s3.put("models", "beside.onnx", case[0])
    ended = threading.Event()
    s3_proxy.faults.add(Fault("beside.onnx", method="GET", held_by=ended))

    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(client.describe, "s3://models/beside.onnx")
        while not s3_proxy.traffic.of("beside.onnx", "HEAD"):
            time.sleep(0.01)
        with pytest.raises(onnxplain.ExplainError) as refused:
            client.plan(case[0], "s3://rows/damaged.parquet", onnxplain.AverageLoss())
        ended.set()

        assert beside.result().digest
    assert refused.value.reason == "INVALID_TABLE"
