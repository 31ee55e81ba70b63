"""Faults of the source while a table is read, and what a store counts."""

from __future__ import annotations

import datetime
import io
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.exceptions import BaseError, PreconditionError
from obstore.store import S3Store
from onnxplain_server.core.errors import ExplainError, Reason

from tools.stores.faults import Fault
from tools.stores.readers import MemoryReader, ObjectReader
from tools.stores.s3_storage import KEY, REGION, SECRET

TABLE = pa.table({f"x{j}": np.random.default_rng(j).normal(size=20_000) for j in range(6)})


def store_of(url: str, bucket: str, timeout: str) -> S3Store:
    return S3Store(
        bucket,
        endpoint=url,
        access_key_id=KEY,
        secret_access_key=SECRET,
        region=REGION,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True, "timeout": timeout},
        retry_config={"max_retries": 2, "retry_timeout": datetime.timedelta(seconds=60)},
    )


@pytest.fixture
def store(s3_proxy, bucket) -> S3Store:
    return store_of(s3_proxy.url, bucket, "300s")


@pytest.fixture
def rows(s3, bucket, store, files):
    """Four files in folders, below "rows"."""
    for year in range(2020, 2024):
        content = files.parquet(TABLE, row_group_size=5_000)
        s3.put(bucket, f"rows/year={year}/part.parquet", content)
    return lambda: ObjectReader(store, "rows")


class FailingReader(MemoryReader):
    """Fails at one of its reads."""

    def __init__(self, contents, failing: int) -> None:
        super().__init__(contents)
        self.failing = failing

    def read(self, file, ranges):
        content = super().read(file, ranges)
        if len(self.ranges) > self.failing:
            raise ExplainError(Reason.UNAVAILABLE, "changed", "table.uris[0]")
        return content


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_an_error_of_the_source_arrives_as_it_is_at_whichever_read(files, write, ending) -> None:
    contents = {f"{i}.{ending}": write[ending](TABLE) for i in range(2)}
    whole, before = files.reader(contents), set(threading.enumerate())
    files.read_of(whole, ["x1", "x3"])

    for failing in range(len(whole.ranges)):
        with pytest.raises(ExplainError) as caught:
            files.read_of(FailingReader(contents, failing), ["x1", "x3"])
        assert (caught.value.reason, caught.value.message) == (Reason.UNAVAILABLE, "changed")
    assert not [t for t in threading.enumerate() if t.name.startswith("fetch") and t not in before]


def test_folders_of_s3_are_a_table(rows, files, s3_proxy) -> None:
    found = files.read_of(rows(), ["x2", "year"], [("year", ">=", "2022"), ("x2", ">", "1.0")])

    kept = TABLE["x2"].to_numpy()[TABLE["x2"].to_numpy() > 1]
    assert found["x2"].to_pylist() == [*kept, *kept]
    assert found["year"].to_pylist() == [2022] * len(kept) + [2023] * len(kept)
    assert not s3_proxy.traffic.byte_count("year%3D2020")


def test_ten_columns_of_500_make_s3_send_no_others(s3, bucket, store, files, s3_proxy) -> None:
    table = pa.table({f"x{j}": np.random.default_rng(j).normal(size=4_000) for j in range(500)})
    content = files.parquet(table, row_group_size=1_000)
    s3.put(bucket, "wide/x.parquet", content)
    names = [f"x{j}" for j in range(3, 500, 50)]

    found = files.read_of(ObjectReader(store, "wide"), names)

    assert found.equals(table.select(names))
    metadata = pq.read_metadata(io.BytesIO(content))
    chunks = [metadata.row_group(i).column(j) for i in range(4) for j in range(3, 500, 50)]
    footer = int.from_bytes(content[-8:-4], "little") + 8
    assert s3_proxy.traffic.byte_count("wide/x.parquet") == footer + sum(
        chunk.total_compressed_size for chunk in chunks
    )


def test_throttling_and_failures_of_the_store_are_got_over(rows, files, s3_proxy) -> None:
    reader = rows()
    s3_proxy.faults.add(Fault("year%3D2021", method="GET", status=503, retry_after_seconds=0))
    s3_proxy.faults.add(Fault("year%3D2022", method="GET", status=500))

    assert files.read_of(reader, ["x0"]).num_rows == 80_000
    assert {503, 500} <= {exchange.status for exchange in s3_proxy.traffic.of("rows")}


def test_a_source_that_cuts_all_connections_ends_the_read(rows, files, s3_proxy) -> None:
    reader = rows()
    s3_proxy.faults.add(Fault("year%3D2023", method="GET", count=1000, cut_after=100))

    with pytest.raises(BaseError):
        files.read_of(reader, ["x0"])


def test_a_source_that_is_slower_than_its_time_ends_the_read(rows, files, bucket, s3_proxy) -> None:
    reader = rows()
    never = threading.Event()
    s3_proxy.faults.add(Fault("rows/", method="GET", count=1000, held_by=never))
    reader.store = store_of(s3_proxy.url, bucket, "200ms")

    with pytest.raises(BaseError):
        files.read_of(reader, ["x0"])


def test_an_object_that_changes_between_two_reads_ends_the_read(
    rows, files, s3, bucket, s3_proxy
) -> None:
    reader = rows()
    opened: list[int] = []

    def change() -> None:
        opened.append(1)
        if len(opened) == 2:
            other = files.parquet(TABLE.slice(0, 19_999))
            s3.put(bucket, "rows/year=2022/part.parquet", other)

    s3_proxy.faults.add(Fault("year%3D2022", method="GET", count=1000, before=change))

    with pytest.raises(PreconditionError):
        files.read_of(reader, ["x0"])
    assert len(opened) > 1
