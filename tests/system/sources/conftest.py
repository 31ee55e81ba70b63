"""Stores for servers that read by URI: S3 with a model and tables, behind a proxy with faults."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from tools.stores import s3_storage
from tools.stores.faulty_server import FaultyServer
from tools.stores.proxy import proxy
from tools.stores.s3_storage import KEY, SECRET

CASE = Path(__file__).parents[2] / "golden" / "hstats" / "case_friedman1_gbr"
MODEL, TABLE = (CASE / "model.onnx").read_bytes(), (CASE / "data.csv").read_bytes()
BUCKETS = ("models", "rows", "results", "private", "locked")


@pytest.fixture(scope="module")
def s3(program: Callable[[str], str], tmp_path_factory: Any) -> Iterator[s3_storage.S3]:
    """S3 with the model, and the table in three formats with a further column."""
    with s3_storage.s3(program("rclone"), tmp_path_factory.mktemp("s3")) as store:
        for bucket in BUCKETS:
            (store.folder / bucket).mkdir()
        for bucket in ("models", "private", "locked"):
            store.put(bucket, "model.onnx", MODEL)
        table = pyarrow.csv.read_csv(io.BytesIO(TABLE))
        wide = table.append_column("unread", pa.array(["no number"] * len(table)))
        for name, content in written(wide).items():
            store.put("rows", f"{name}/year=2026/rows.{name}", content)
            store.put("rows", f"{name}/year=2025/rows.{name}", content)
        yield store


def written(table: pa.Table) -> dict[str, bytes]:
    """Return a table in each format."""
    parquet, arrow, csv = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, parquet)
    pyarrow.feather.write_feather(table, arrow, compression="uncompressed")
    pyarrow.csv.write_csv(table, csv)
    return {"parquet": parquet.getvalue(), "arrow": arrow.getvalue(), "csv": csv.getvalue()}


@pytest.fixture(scope="module")
def s3_proxy(s3: s3_storage.S3) -> Iterator[FaultyServer]:
    """The same S3 behind a proxy with faults, which counts."""
    with proxy(s3.url) as server:
        yield server


@pytest.fixture(scope="module")
def listed(tmp_path_factory: Any) -> Callable[[str], Path]:
    """Makes the operator's list for a store's URL; one bucket has wrong keys, one is missing."""

    def make(url: str) -> Path:
        folder: Path = tmp_path_factory.mktemp("list")
        text = ""
        for bucket in ("models", "rows", "results", "locked"):
            keys = folder / bucket
            secret = f"x{SECRET}" if bucket == "locked" else SECRET
            keys.write_text(
                f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {secret}\n"
            )
            text += (
                f'[[source]]\nprefix = "s3://{bucket}/"\nendpoint = "{url}"\n'
                f'credentials_file = "{keys}"\nwrite = {json.dumps(bucket == "results")}\n'
            )
        path = folder / "sources.toml"
        path.write_text(text)
        return path

    return make


@pytest.fixture
def settings(s3: s3_storage.S3, listed: Callable[[str], Path]) -> dict[str, Any]:
    """Settings of a server that reads from S3 without faults."""
    return {"sources_file": listed(s3.url)}


@pytest.fixture
def case() -> tuple[bytes, bytes]:
    """The model and the table, as files."""
    return MODEL, TABLE
