"""Each kind of store, real: servers and the command line answer as they do from files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnxplain
import pytest
from authority import Authority

from tools.stores import google_storage, mlflow_server
from tools.stores.https_server import Site, https_server
from tools.stores.s3_storage import KEY, SECRET

LOSS = onnxplain.AverageLoss()
COLUMNS: Any = {"target_column": "y", "feature_columns": [f"x{index}" for index in range(1, 7)]}
HEADER = "Bearer of-the-reader"


@pytest.fixture(scope="module")
def google(program: Callable[[str], str], tmp_path_factory: Any) -> Iterator[Any]:
    with google_storage.google(program("fake-gcs-server"), tmp_path_factory.mktemp("g")) as store:
        store.make_bucket("lake")
        yield store


@pytest.fixture(scope="module")
def mlflow(program: Callable[[str], str], tmp_path_factory: Any) -> Iterator[Any]:
    with mlflow_server.mlflow(program("mlflow"), tmp_path_factory.mktemp("mlflow")) as server:
        yield server


@pytest.fixture(scope="module")
def authority(tmp_path_factory: Any) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def losses(answer: Any) -> Any:
    return answer.average_loss.losses[0].values


@pytest.fixture
def expected(case: tuple[bytes, bytes]) -> Any:
    with onnxplain.local() as client:
        return losses(client.explain(*case, LOSS, **COLUMNS))


def explained(serve: Any, folder: Path, listed: str, model: Any, table: Any) -> Any:
    (folder / "sources.toml").write_text(listed)
    server = serve(sources_file=folder / "sources.toml")
    with onnxplain.connect(server.endpoint) as client:
        return client.explain(model, table, LOSS, **COLUMNS)


@pytest.mark.slow
def test_googles_store(serve: Any, tmp_path: Path, google: Any, case: Any, expected: Any) -> None:
    google.put("lake", "churn/model.onnx", case[0])
    google.put("lake", "churn/rows/part.csv", case[1])
    (tmp_path / "account.json").write_text(google.account)
    listed = (
        f'[[source]]\nprefix = "gs://lake/churn/"\nendpoint = "{google.url}"\n'
        f'credentials_file = "{tmp_path}/account.json"\n'
    )

    answer = explained(
        serve, tmp_path, listed, "gs://lake/churn/model.onnx", "gs://lake/churn/rows/"
    )

    assert losses(answer) == expected
    assert [source.uri for source in answer.receipt.sources] == [
        *("gs://lake/churn/model.onnx", "gs://lake/churn/rows/part.csv")
    ]


@pytest.mark.slow
def test_a_web_server_with_a_private_certificate(
    serve: Any, tmp_path: Path, authority: Authority, case: Any, expected: Any
) -> None:
    site = Site({"/m/model.onnx": case[0], "/m/rows.csv": case[1]}, {}, {"authorization": HEADER})
    (tmp_path / "header").write_text(HEADER)
    with https_server(site, *authority.issue("store")) as store:
        url = store.url.replace("127.0.0.1", "localhost")
        listed = (
            f'[[source]]\nprefix = "{url}/m/"\nca_file = "{authority.file}"\n'
            f'credentials_file = "{tmp_path}/header"\n'
        )
        answer = explained(serve, tmp_path, listed, f"{url}/m/model.onnx", f"{url}/m/rows.csv")

    assert losses(answer) == expected
    assert answer.receipt.sources[0].version.startswith('"')


@pytest.mark.slow
def test_a_registry_and_s3_by_server_command_and_python(
    serve: Any, tmp_path: Path, mlflow: Any, s3: Any, case: Any, expected: Any, monkeypatch: Any
) -> None:
    (tmp_path / "model.onnx").write_bytes(case[0])
    s3.put("rows", "one.csv", case[1])
    version = mlflow.register("churn", tmp_path / "model.onnx", "champion")
    keys = tmp_path / "keys"
    keys.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    listed = (
        f'[[source]]\nprefix = "models:/"\nendpoint = "{mlflow.url}"\n'
        f'[[source]]\nprefix = "s3://rows/"\nendpoint = "{s3.url}"\ncredentials_file = "{keys}"\n'
    )
    uris = "models:/churn@champion", "s3://rows/one.csv"

    by_server = explained(serve, tmp_path, listed, *uris)

    variables = {
        "MLFLOW_TRACKING_URI": mlflow.url,
        "AWS_ENDPOINT_URL_S3": s3.url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with onnxplain.local() as client:
        by_python = client.explain(*uris, LOSS, **COLUMNS)
    by_command = by_command_line(*uris)
    for answer in (by_server, by_python):
        assert losses(answer) == expected
        registered, rows = answer.receipt.sources
        assert (registered.uri, registered.version) == (uris[0], str(version))
        assert registered.resolved_uri.endswith("model.onnx")
        assert rows.uri == uris[1]
    assert by_command["explanations"][0]["averageLoss"]["losses"][0]["values"] == pytest.approx(
        [*expected]
    )
    assert [source["uri"] for source in by_command["receipt"]["sources"]] == [*uris]


def by_command_line(model: str, table: str) -> Any:
    flags = ["--method", "average_loss", "--target-column", "y", "--output", "json"]
    features = ["--feature-columns", ",".join(COLUMNS["feature_columns"])]
    words = [sys.executable, "-m", "onnxplain_server", "explain", model, table, *flags, *features]
    return json.loads(subprocess.run(words, check=True, capture_output=True, env=os.environ).stdout)
