"""A table of 1 GB in Parquet files, read from S3 on loopback, beside pyarrow on the same files.

Both write what they read as one Arrow stream. S3 is `rclone serve s3`: `make stores` builds it.
"""

from __future__ import annotations

import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from obstore.store import S3Store
from onnxplain_server.adapters.sources.interfaces import TableQuery
from onnxplain_server.adapters.sources.table_reader import open_table

from tools.programs import advice, find
from tools.stores.readers import ObjectReader
from tools.stores.s3_storage import KEY, REGION, S3, SECRET, s3

FILES, ROWS, NUMBERS, WHOLE, TEXTS = 8, 320_000, 44, 4, 4
RUNS = 5
WIDE_COLUMNS, WIDE_ROWS, NEEDED = 500, 40_000, 10
BYTE_LIMIT = 1 << 34
TARGET = 1.3


def write_tall(folder: Path) -> int:
    """Write the files of the tall table; return their size in bytes."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    levels = np.array(["alpha", "beta", "gamma", "delta"])
    for part in range(FILES):
        columns: dict[str, Any] = {f"x{j}": rng.normal(size=ROWS) for j in range(NUMBERS)}
        columns |= {f"i{j}": rng.integers(0, 100_000, ROWS) for j in range(WHOLE)}
        columns |= {f"c{j}": levels[rng.integers(0, len(levels), ROWS)] for j in range(TEXTS)}
        pq.write_table(pa.table(columns), folder / f"part-{part}.parquet")
    return sum(file.stat().st_size for file in folder.iterdir())


def write_wide(folder: Path) -> int:
    """Write one file with many columns; return its size in bytes."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=WIDE_ROWS) for j in range(WIDE_COLUMNS)}
    pq.write_table(pa.table(columns), folder / "wide.parquet", row_group_size=10_000)
    return (folder / "wide.parquet").stat().st_size


def memory() -> io.BufferedWriter:
    """Open a file in memory, as results are handed on."""
    return os.fdopen(os.memfd_create("result"), "wb")


def by_pyarrow(folder: Path, columns: Sequence[str] | None) -> None:
    with memory() as sink:
        table = pq.read_table(folder, columns=columns)
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)


def by_sources(store: S3Store, prefix: str, columns: Sequence[str] | None) -> None:
    with memory() as sink:
        reader = ObjectReader(store, prefix)
        open_table(reader, TableQuery(None, (), BYTE_LIMIT)).read(columns, sink)


def seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(title: str, pyarrow_run: Callable[[], None], sources_run: Callable[[], None]) -> float:
    """Time both in turn; return the median of the ratios of neighbouring runs."""
    pairs = [(seconds(pyarrow_run), seconds(sources_run)) for _ in range(RUNS + 1)][1:]
    ratio = statistics.median(ours / theirs for theirs, ours in pairs)
    theirs, ours = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(
        f"  {title}: {ours:.2f} s from S3, {theirs:.2f} s by pyarrow from disk: {ratio:.2f} times"
    )
    return ratio


def store_of(server: S3) -> S3Store:
    return S3Store(
        "bucket",
        endpoint=server.url,
        access_key_id=KEY,
        secret_access_key=SECRET,
        region=REGION,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


def main() -> None:
    """Print the ratios."""
    program = find("rclone")
    if program is None:
        print(f"rclone not found: {advice('rclone')}")
        return
    with tempfile.TemporaryDirectory() as folder, s3(program, Path(folder)) as server:
        bucket = server.folder / "bucket"
        tall, wide = write_tall(bucket / "tall"), write_wide(bucket / "wide")
        store = store_of(server)
        print(f"tables of Parquet files, {os.cpu_count()} cores; at most {TARGET} times is the aim")
        compare(
            f"{tall / 1e9:.2f} GB, {FILES} files, all columns",
            lambda: by_pyarrow(bucket / "tall", None),
            lambda: by_sources(store, "tall", None),
        )
        names = [f"x{j}" for j in range(0, WIDE_COLUMNS, WIDE_COLUMNS // NEEDED)]
        compare(
            f"{NEEDED} of {WIDE_COLUMNS} columns of {wide / 1e9:.2f} GB",
            lambda: by_pyarrow(bucket / "wide", names),
            lambda: by_sources(store, "wide", names),
        )


if __name__ == "__main__":
    main()
