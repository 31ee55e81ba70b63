"""Real stores, each for one run of the tests, and servers with faults, each for one test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from authority import Authority
from onnxplain_server.adapters.sources.connections.guard import Guard
from onnxplain_server.adapters.sources.fetching import Fetching
from onnxplain_server.adapters.sources.source_list import read_source_list

from tools.stores import google_storage, mlflow_server, s3_storage
from tools.stores.faulty_server import FaultyServer
from tools.stores.https_server import Site, https_server
from tools.stores.proxy import proxy
from tools.stores.s3_storage import KEY, SECRET


@pytest.fixture(scope="session")
def s3(program: Callable[[str], str], tmp_path_factory) -> Iterator[s3_storage.S3]:
    """S3 by rclone."""
    with s3_storage.s3(program("rclone"), tmp_path_factory.mktemp("s3")) as store:
        yield store


@pytest.fixture
def bucket(s3: s3_storage.S3, tmp_path: Path) -> str:
    """Name of an empty bucket of this test."""
    name = tmp_path.name.lower().replace("_", "-").strip("-")[:60]
    (s3.folder / name).mkdir()
    return name


@pytest.fixture
def s3_proxy(s3: s3_storage.S3) -> Iterator[FaultyServer]:
    """S3 behind a proxy with faults."""
    with proxy(s3.url) as server:
        yield server


@pytest.fixture(scope="session")
def google(program: Callable[[str], str], tmp_path_factory) -> Iterator[google_storage.Google]:
    """Google's store."""
    with google_storage.google(program("fake-gcs-server"), tmp_path_factory.mktemp("g")) as store:
        yield store


@pytest.fixture(scope="session")
def mlflow(program: Callable[[str], str], tmp_path_factory) -> Iterator[mlflow_server.Mlflow]:
    """MLflow's tracking server."""
    with mlflow_server.mlflow(program("mlflow"), tmp_path_factory.mktemp("mlflow")) as server:
        yield server


@pytest.fixture(scope="session")
def authority(tmp_path_factory) -> Authority:
    """Private authority, whose certificate no system trusts."""
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def site() -> Site:
    """Objects of the HTTPS server."""
    return Site()


@pytest.fixture
def https(site: Site, authority: Authority) -> Iterator[FaultyServer]:
    """HTTPS server with a private certificate and faults."""
    with https_server(site, *authority.issue("store")) as server:
        yield server


MakeFetching = Callable[..., Fetching]


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    made = Guard()
    made.start()
    yield made
    made.close()


@pytest.fixture
def fetching(guard: Guard, tmp_path: Path) -> MakeFetching:
    """Makes fetches from prefixes, each a dict of the operator's list."""

    def make(*sources: dict[str, object]) -> Fetching:
        tables = [
            "[[source]]\n"
            + "".join(f"{key} = {json.dumps(value)}\n" for key, value in each.items())
            for each in sources
        ]
        path = tmp_path / "sources.toml"
        path.write_text("\n".join(tables))
        return Fetching(read_source_list(path), guard)

    return make


@pytest.fixture
def keys(tmp_path: Path) -> str:
    path = tmp_path / "keys"
    path.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    return str(path)
