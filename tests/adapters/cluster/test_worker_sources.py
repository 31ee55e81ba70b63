"""List of prefixes of a worker of the cluster: its faults are for the operator alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.streaming.workers import SharedFile

dask = pytest.importorskip("dask")
worker_sources = pytest.importorskip("onnxplain_server.adapters.cluster.worker_sources")


@pytest.mark.parametrize("content", [None, "[[sources]", "[[source]]\nsecret = 1"])
def test_a_list_that_cannot_be_read_is_told_without_its_path(
    content: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listed = tmp_path / "sources.toml"
    if content is not None:
        listed.write_text(content, "utf-8")
    file = SharedFile("s3://rows/a.parquet", 7, "v1")

    with (
        dask.config.set({worker_sources.SETTING: str(listed)}),
        pytest.raises(ExplainError) as error,
        worker_sources.reading([file]),
    ):
        pass

    assert error.value.reason is Reason.SOURCE_UNAVAILABLE
    assert error.value.message == (
        "a worker of the cluster cannot read its list of prefixes; tell the operator: its log has "
        "the cause"
    )
    assert str(listed) in caplog.text
