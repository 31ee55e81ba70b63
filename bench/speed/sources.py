"""A table of 1 GB in Parquet files, read from S3 on loopback, beside pyarrow on the same files.

Ours is the whole way of a server: its confined process asks S3 through the guard, decodes, and
sends the rows over a socket as one Arrow stream. pyarrow writes the same stream into memory. S3 is
`rclone serve s3`, on the same cores: `make stores` builds it. It makes no ETags here: it would
read and hash a whole file for each range. `python -m bench.speed.sources` also tells what each part
of the way takes.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedWriter, RawIOBase
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
import obstore
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from obstore.store import S3Store
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Table, TableUris
from onnxplain_server.adapters.sources.connections.guard import Guard
from onnxplain_server.adapters.sources.fetcher import Fetcher
from onnxplain_server.adapters.sources.fetching import Fetching
from onnxplain_server.adapters.sources.interfaces import TableQuery
from onnxplain_server.adapters.sources.source_list import read_source_list
from onnxplain_server.adapters.sources.table_reader import open_table
from onnxplain_server.core.sources import TableNeeds
from onnxplain_server.wire.requests.needed_columns import NeededColumns

from bench.speed_table.machine import busy_cores, described
from bench.speed_table.row import Row, Unit, in_turn, lines, seconds
from tools.programs import advice, find
from tools.stores.proxy import proxy
from tools.stores.readers import ObjectReader
from tools.stores.s3_storage import KEY, REGION, S3, SECRET, s3

FILES, ROWS, NUMBERS, WHOLE, TEXTS = 8, 320_000, 44, 4, 4
RUNS = 5
WIDE_COLUMNS, WIDE_ROWS, NEEDED = 500, 40_000, 10
BYTE_LIMIT = 1 << 33
RANGE_BYTES = 16 << 20
TARGET = 1.3
PAGE = Path(__file__).parents[2] / "docs" / "sources.md"
BEGIN, END = "<!-- By `python -m bench.speed.sources --page` -->\n", "<!-- End -->\n"
NAMES = [f"x{j}" for j in range(0, WIDE_COLUMNS, WIDE_COLUMNS // NEEDED)]


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


@dataclass(frozen=True)
class NoDeadline:
    """`FetchControl` of a request that nobody ends."""

    deadline: float = math.inf

    def check(self, when: str) -> None:
        """Let it go on."""


def memory() -> BufferedWriter:
    """Open a file in memory, as results are handed on."""
    return os.fdopen(os.memfd_create("result"), "wb")


def by_pyarrow(folder: Path, columns: Sequence[str] | None) -> None:
    with memory() as sink:
        table = pq.read_table(folder, columns=columns)
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)


def by_server(fetcher: Fetcher, uri: str, columns: Sequence[str] | None) -> int:
    """Read as a server does; return the size of the Arrow stream."""
    message = Table(uris=TableUris(uris=[uri])).SerializeToString()
    needs = TableNeeds(ExplainRequest(feature_columns=columns).SerializeToString())
    return len(fetcher.read_table(message, needs, BYTE_LIMIT, NoDeadline()).content)


def by_guard(fetching: Fetching, uri: str) -> None:
    """Read all columns through the guard, in this process."""
    with memory() as sink:
        fetching.read_table(
            *(Table(uris=TableUris(uris=[uri])), NeededColumns(TableNeeds())),
            cast("RawIOBase", sink),
            byte_limit=BYTE_LIMIT,
            seconds=3_600.0,
        )


def by_reader(store: S3Store, prefix: str) -> None:
    """Read all columns by obstore alone, in this process."""
    with memory() as sink:
        reader = ObjectReader(store, prefix)
        open_table(reader, TableQuery(None, (), BYTE_LIMIT)).read(None, sink)


def undecoded(store: S3Store, prefix: str) -> None:
    """Read the bytes of all files alone, two ranges at a time."""
    sizes = {meta["path"]: meta["size"] for page in obstore.list(store, prefix) for meta in page}
    starts = [(path, start) for path in sizes for start in range(0, sizes[path], RANGE_BYTES)]

    def read(part: tuple[str, int]) -> int:
        path, start = part
        end = min(start + RANGE_BYTES, sizes[path])
        return len(obstore.get_range(store, path, start=start, end=end))

    with ThreadPoolExecutor(2) as threads:
        if sum(threads.map(read, starts)) != sum(sizes.values()):
            raise ValueError("bytes are missing")


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


def source_list(folder: Path, url: str) -> Path:
    """Write the operator's list for a bucket."""
    keys, path = folder / "keys", folder / "sources.toml"
    keys.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    path.write_text(
        f'[[source]]\nprefix = "s3://bucket/"\nendpoint = "{url}"\ncredentials_file = "{keys}"\n'
    )
    return path


@contextmanager
def fetching_server(folder: Path, url: str) -> Iterator[Fetcher]:
    """Start what a server reads URIs with."""
    folder.mkdir()
    fetcher = Fetcher(source_list(folder, url), 1 << 34, is_confined=False)
    try:
        yield fetcher
    finally:
        fetcher.close()


@dataclass(frozen=True)
class Store:
    """S3 with both tables.

    Attributes
    ----------
    byte_counts : mapping of str to int
        Sizes of the tables "tall" and "wide".
    """

    server: S3
    folder: Path
    byte_counts: Mapping[str, int]

    @property
    def bucket(self) -> Path:
        return self.server.folder / "bucket"


@contextmanager
def filled_store() -> Iterator[Store]:
    program = find("rclone")
    if program is None:
        raise SystemExit(f"rclone not found: {advice('rclone')}")
    with (
        tempfile.TemporaryDirectory() as folder,
        s3(program, Path(folder), has_etags=False) as server,
    ):
        bucket = server.folder / "bucket"
        sizes = {"tall": write_tall(bucket / "tall"), "wide": write_wide(bucket / "wide")}
        yield Store(server, Path(folder), sizes)


def sent_bytes(store: Store) -> int:
    """Return the bytes of bodies that S3 sends for the needed columns, counted before it."""
    with (
        proxy(store.server.url) as counted,
        fetching_server(store.folder / "counted", counted.url) as fetcher,
    ):
        by_server(fetcher, "s3://bucket/wide/", NAMES)
        return counted.traffic.byte_count("wide.parquet")


def chunk_bytes(file: Path) -> int:
    """Return the bytes of the needed columns' chunks and of the footer."""
    metadata = pq.read_metadata(file)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(metadata.num_columns)]
    needed = [chunk for chunk in chunks if chunk.path_in_schema in NAMES]
    footer = int.from_bytes(file.read_bytes()[-8:-4], "little") + 8
    return footer + sum(int(chunk.total_compressed_size) for chunk in needed)


def compared(store: Store, fetcher: Fetcher) -> Iterator[Row]:
    """Time both sides on both tables, in turn."""
    tall, wide = store.byte_counts["tall"] / 1e9, store.byte_counts["wide"] / 1e6
    sent, needed = sent_bytes(store), chunk_bytes(store.bucket / "wide" / "wide.parquet")
    yield Row(
        f"Parquet from S3 on loopback, {tall:.2f} GB in {FILES} files, all columns",
        *timed(store, fetcher, "tall", None),
        wanted=1 / TARGET,
        note="S3 is rclone, on the same cores, without ETags",
    )
    yield Row(
        f"the same, {NEEDED} of {WIDE_COLUMNS} columns of a file of {wide:.0f} MB",
        *timed(store, fetcher, "wide", NAMES),
        note=f"S3 sends {sent:,} bytes; footer and chunks of these columns have {needed:,}",
    )


def timed(
    store: Store, fetcher: Fetcher, table: str, columns: Sequence[str] | None
) -> tuple[Unit, Sequence[float], str, Sequence[float]]:
    """Return the figures of both sides, as a row has them."""

    def ours() -> float:
        return seconds(lambda: by_server(fetcher, f"s3://bucket/{table}/", columns))

    def theirs() -> float:
        return seconds(lambda: by_pyarrow(store.bucket / table, columns))

    ours(), theirs()
    own, other = in_turn(ours, theirs, RUNS)
    return Unit.SECONDS, own, "pyarrow from disk", other


def page(rows: Sequence[Row], bytes_alone: float, busy: float) -> str:
    """Return the rows as a table of the page, and the time of the bytes alone."""
    head = "| Work | Ours | pyarrow from disk | Ratio, by run |\n|---|---|---|---|\n"
    body = "".join(
        f"| {row.work}. {row.note} | {median(row.ours):.3g} s | {median(row.theirs):.3g} s "
        f"| {', '.join(f'{1 / ratio:.3g}' for ratio in sorted(row.ratios, reverse=True))} |\n"
        for row in rows
    )
    return (
        f"{head}{body}\nMedians of {RUNS} runs in turn on {described()}. Before, other processes "
        f"used {busy:.1f} cores. The bytes of the first table alone, in ranges of "
        f"{RANGE_BYTES >> 20} MiB, by the same library and not decoded: {bytes_alone:.3g} s.\n"
    )


def main() -> None:
    """Print the rows, and what the parts of the way take; with --page, write docs/sources.md."""
    busy = busy_cores()
    with filled_store() as store, fetching_server(store.folder / "list", store.server.url) as own:
        found = list(compared(store, own))
        direct = store_of(store.server)
        bytes_alone = median(seconds(lambda: undecoded(direct, "tall")) for _ in range(RUNS))
        for line in lines(found):
            print(line)
        if "--page" in sys.argv:
            before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
            after = rest.partition(END)[2]
            PAGE.write_text(
                before + BEGIN + page(found, bytes_alone, busy) + END + after, encoding="utf-8"
            )
        guard = Guard()
        guard.start()
        fetching = Fetching(read_source_list(store.folder / "list" / "sources.toml"), guard)
        for title, run in (
            ("obstore and decoding, in one process", lambda: by_reader(direct, "tall")),
            ("the same through the guard", lambda: by_guard(fetching, "s3://bucket/tall/")),
            ("the whole way of a server", lambda: by_server(own, "s3://bucket/tall/", None)),
            ("pyarrow from disk", lambda: by_pyarrow(store.bucket / "tall", None)),
        ):
            times = sorted(seconds(run) for _ in range(3))
            print(f"  {title}: {times[1]:.2f} s")


if __name__ == "__main__":
    main()
