"""The second image as a Dask cluster: as the manifests of deploy/dask start it, for a server."""

from __future__ import annotations

import io
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from image_root import PATIENCE, Image, running

from tools.stores.https_server import Site, https_server

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "tests/models/sklearn_gradient_boosting.onnx"
COLUMNS = [f"c{j}" for j in range(10)]
ROW_COUNT = 5 * 65_536 + 1_000
MEMORY_BYTES = 136_000_000
"""Above what blocks need, below the estimate of the table's."""
LIST = "/etc/cluster-sources.toml"
STARTED = {"scheduler": r"Scheduler at: +(tcp://\S+)", "worker": r"Registered to: +(tcp://\S+)"}
"""What each says when it is ready, with the scheduler's address."""


@pytest.fixture(scope="session")
def table() -> bytes:
    rng = np.random.default_rng(0)
    drawn = {name: rng.integers(0, 50, ROW_COUNT) / np.float32(4) for name in [*COLUMNS, "y"]}
    file = io.BytesIO()
    pq.write_table(pa.table(drawn), file)
    return file.getvalue()


def explained(client: Any, uri: str) -> Any:
    asked = onnxplain.PartialDependence(features=["c0"], grid_size=3)
    table = onnxplain.TableUris(uri)
    return client.explain(MODEL, table, asked, feature_columns=COLUMNS, target_column="y")


def test_its_workers_compute_for_its_server(image: Image, table: bytes, tmp_path: Path) -> None:
    """With the manifests' arguments and variables, but for addresses, which are those of a test."""
    (tmp_path / "rows.parquet").write_bytes(table)
    with onnxplain.local(memory_bytes=MEMORY_BYTES) as client:
        expected = explained(client, f"file://{tmp_path}/rows.parquet")

    with ExitStack() as stack:
        store = stack.enter_context(https_server(Site({"/lake/rows.parquet": table})))
        listed = f'[[source]]\nprefix = "s3://lake/"\nendpoint = "{store.url}"\n'
        (image.root / LIST.lstrip("/")).write_text(listed)
        scheduler = stack.enter_context(started(image, "scheduler", "--host=127.0.0.1"))
        stack.enter_context(started(image, "worker", "--host=127.0.0.1", scheduler=scheduler))
        server = stack.enter_context(
            running(
                image,
                ONNXPLAIN_SOURCES_FILE=LIST,
                ONNXPLAIN_MEMORY_BYTES=str(MEMORY_BYTES),
                ONNXPLAIN_DASK_SCHEDULER=scheduler,
            )
        )
        client = stack.enter_context(onnxplain.connect(server.endpoint))
        found = explained(client, "s3://lake/rows.parquet")

    assert "TABLE_STREAMED" in {warning.code for warning in found.warnings}
    assert found.message.explanations == expected.message.explanations


@contextmanager
def started(image: Image, component: str, *more: str, scheduler: str = "") -> Iterator[str]:
    """Run a container of the manifests in the image; yields the scheduler's address."""
    command, variables = of_manifest(component, scheduler)
    with subprocess.Popen(
        image.command(*command, *more, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=process.stdout.read)
        try:
            address = said(process.stdout, STARTED[component])
            reader.start()
            yield address
        finally:
            process.terminate()
            process.wait(PATIENCE)
        reader.join()


def of_manifest(component: str, scheduler: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return command and variables of the container, at free ports and with the test's list."""
    manifest = yaml.safe_load((ROOT / f"deploy/dask/{component}.yaml").read_text())
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    words = [*container["command"], *container["args"]]
    moved = {"8786": "0", "--worker-port=8788": "--worker-port=0"}
    replaced = [scheduler if word.startswith("tcp://") else moved.get(word, word) for word in words]
    variables = {each["name"]: each["value"] for each in container["env"]}
    return replaced, variables | {"DASK_ONNXPLAIN__SOURCES_FILE": LIST}


def said(log: Iterable[str], pattern: str) -> str:
    """Return what the first line of a log that has the pattern tells by it."""
    lines = []
    for line in log:
        lines.append(line)
        if found := re.search(pattern, line):
            return found[1]
    return pytest.fail("".join(lines))
