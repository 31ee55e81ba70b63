"""Servers that read models and tables by URI: through a confined process, from listed prefixes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import onnxplain
import pyarrow.parquet
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from tools.stores import s3_storage

CASE = Path(__file__).parents[2] / "golden" / "hstats" / "case_friedman1_gbr"
MODEL, TABLE = (CASE / "model.onnx").read_bytes(), (CASE / "data.csv").read_bytes()
FEATURES = [f"x{index}" for index in range(1, 7)]
LOSS = onnxplain.AverageLoss()


def fetcher_of(server: Any) -> int:
    (found,) = [
        pid
        for pid in server.children()
        if b"fetch_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return int(found)


@pytest.mark.slow
def test_a_server_reads_models_and_tables_by_uri(
    serve: Callable[..., Any], s3: Any, settings: Any
) -> None:
    server = serve(**settings)
    year = [("year", "==", 2026)]
    with onnxplain.connect(server.endpoint) as client:
        expected = (
            client.explain(MODEL, TABLE, LOSS, target_column="y", feature_columns=FEATURES)
            .average_loss.losses[0]
            .values
        )
        for form in ("parquet", "arrow", "csv"):
            rows = onnxplain.TableUris(f"s3://rows/{form}/", filters=year)
            answer = client.explain(
                "s3://models/model.onnx", rows, LOSS, target_column="y", feature_columns=FEATURES
            )
            assert answer.average_loss.losses[0].values == pytest.approx(expected, rel=1e-6)
            model, *files = answer.receipt.sources
            assert (model.uri, model.digest) == ("s3://models/model.onnx", answer.model.digest)
            assert f"s3://rows/{form}/year=2026/rows.{form}" in {file.uri for file in files}
        check_refusals(client)
        check_results(client, s3, server.url)
    check_confinement(server)


def check_refusals(client: onnxplain.Client) -> None:
    pinned = onnxplain.ModelUri("s3://models/model.onnx", sha256="0" * 64)
    for model, reason in (
        ("s3://models/none.onnx", "SOURCE_NOT_FOUND"),
        ("s3://private/model.onnx", "SOURCE_NOT_LISTED"),
        ("file:///etc/passwd", "SOURCE_NOT_LISTED"),
        ("https://127.0.0.1/model.onnx", "SOURCE_NOT_LISTED"),
        ("s3://models/../private/model.onnx", "INVALID_REQUEST"),
        (pinned, "SOURCE_CHANGED"),
    ):
        with pytest.raises(onnxplain.ExplainError) as refused:
            client.describe(model)
        assert refused.value.reason == reason


def check_results(client: onnxplain.Client, s3: s3_storage.S3, url: str) -> None:
    """Write answers where the list allows it, and nowhere else."""
    client.explain(MODEL, TABLE, LOSS, target_column="y", result_uri="s3://results/a/answer.pb")
    stored = (s3.folder / "results" / "a" / "answer.pb").read_bytes()
    assert ExplainResponse.FromString(stored).explanations[0].HasField("average_loss")
    with pytest.raises(onnxplain.ExplainError) as refused:
        client.explain(MODEL, TABLE, LOSS, target_column="y", result_uri="s3://rows/answer.pb")
    assert refused.value.reason == "SOURCE_NOT_LISTED"
    rows, uri = onnxplain.Attributions(explained_row_count=20), "s3://results/a/rows.parquet"
    reduced = client.explain(MODEL, TABLE, rows, feature_columns=FEATURES, result_uri=uri)
    table = pyarrow.parquet.read_table(s3.folder / "results" / "a" / "rows.parquet")
    assert table.column_names[4:] == FEATURES
    assert reduced.attributions.explained_row_count == len(table) == 20
    asked = {
        "model": {"uri": "s3://models/model.onnx"},
        "table": {"uris": {"uris": ["s3://rows/csv/year=2026/rows.csv"]}},
        "featureColumns": FEATURES,
        "targetColumn": "y",
        "methods": [{"averageLoss": {}}],
        "resultUri": "s3://results/answer.json",
    }
    request = Request(  # noqa: S310 - our own server
        f"{url}/v1/explanations", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=600) as reply:  # noqa: S310 - likewise
        answer = reply.read()
    assert (s3.folder / "results" / "answer.json").read_bytes() == answer


def check_confinement(server: Any) -> None:
    """The process has its filter, on all threads, and the server none of the libraries."""
    pid = fetcher_of(server)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        status = (thread / "status").read_text(encoding="utf-8")
        assert "NoNewPrivs:\t1" in status
        assert "Seccomp:\t2" in status
    maps = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    assert "obstore" not in maps
    assert "pyarrow" not in maps


def test_a_server_without_a_list_names_the_setting(lasting_server: Any) -> None:
    with (
        onnxplain.connect(lasting_server.endpoint) as client,
        pytest.raises(onnxplain.ExplainError) as refused,
    ):
        client.describe("s3://models/model.onnx")

    assert refused.value.reason == "SOURCE_NOT_LISTED"
    assert "sources_file" in str(refused.value)
