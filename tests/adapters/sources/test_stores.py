"""The stores of the tests are what clients of stores expect, and their faults happen."""

from __future__ import annotations

import datetime
import json
import subprocess
import threading
from typing import Any

import obstore
import pytest
from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError
from obstore.store import GCSStore, HTTPStore, S3Store
from onnx import TensorProto, helper

from tools.stores.faults import Fault
from tools.stores.s3_storage import KEY, REGION, SECRET

CONTENT = bytes(range(256)) * 400
RETRIES: Any = {"max_retries": 2, "retry_timeout": datetime.timedelta(seconds=60)}


def s3_store(url: str, bucket: str, secret: str = SECRET) -> S3Store:
    return S3Store(
        bucket,
        endpoint=url,
        access_key_id=KEY,
        secret_access_key=secret,
        region=REGION,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
        retry_config=RETRIES,
    )


@pytest.fixture
def stored(s3, bucket, s3_proxy) -> S3Store:
    """A bucket behind the proxy, with an object."""
    s3.put(bucket, "folder/object", CONTENT)
    return s3_store(s3_proxy.url, bucket)


@pytest.fixture
def web(https, site, authority) -> HTTPStore:
    """The HTTPS server with an object, as a client that trusts its authority sees it."""
    site.objects["/folder/object"] = CONTENT
    options: Any = {"root_certificate": authority.file.read_bytes()}
    return HTTPStore.from_url(https.url, client_options=options, retry_config=RETRIES)


def test_s3_lists_and_reads_ranges(s3, bucket) -> None:
    s3.put(bucket, "a/2", CONTENT)
    s3.put(bucket, "a/1", b"one")
    store = s3_store(s3.url, bucket)

    listed = [item["path"] for page in obstore.list(store, "a") for item in page]

    assert listed == ["a/1", "a/2"]
    assert bytes(obstore.get_range(store, "a/2", start=256, length=3)) == b"\0\1\2"


def test_s3_refuses_a_wrong_secret(s3, bucket) -> None:
    s3.put(bucket, "object", CONTENT)

    with pytest.raises(PermissionDeniedError):
        obstore.head(s3_store(s3.url, bucket, "wrong"), "object")


def test_the_proxy_counts_the_bytes_of_ranges(stored, s3_proxy) -> None:
    obstore.get_range(stored, "folder/object", start=100, length=50)

    (exchange,) = s3_proxy.traffic.of("folder/object", "GET")
    assert (exchange.range, exchange.status, exchange.byte_count) == ("bytes=100-149", 206, 50)


def test_throttling_is_retried_by_the_client(stored, s3_proxy) -> None:
    s3_proxy.faults.add(Fault("folder/object", status=503, retry_after_seconds=0))

    assert bytes(obstore.get(stored, "folder/object").bytes()) == CONTENT
    assert [e.status for e in s3_proxy.traffic.of("folder/object")] == [503, 200]


def test_a_connection_is_cut_in_the_body(stored, s3_proxy) -> None:
    s3_proxy.faults.add(Fault("folder/object", method="GET", count=99, cut_after=1000))

    with pytest.raises(BaseError):
        obstore.get_range(stored, "folder/object", start=0, length=len(CONTENT))

    assert {e.byte_count for e in s3_proxy.traffic.of("folder/object")} == {1000}


def test_an_object_changes_between_two_reads(s3, bucket, stored, s3_proxy) -> None:
    etag = obstore.head(stored, "folder/object")["e_tag"]
    s3_proxy.faults.add(
        Fault("folder/object", before=lambda: s3.put(bucket, "folder/object", CONTENT[::-1]))
    )

    with pytest.raises(PreconditionError):
        obstore.get(stored, "folder/object", options={"if_match": etag, "range": (0, 10)})


def test_an_answer_waits_for_an_event(stored, s3_proxy) -> None:
    event = threading.Event()
    s3_proxy.faults.add(Fault("folder/object", held_by=event))
    threading.Timer(0.2, event.set).start()

    assert bytes(obstore.get(stored, "folder/object").bytes()) == CONTENT
    assert event.is_set()


def test_https_serves_ranges_to_who_trusts_its_authority(web, https) -> None:
    assert bytes(obstore.get_range(web, "folder/object", start=256, length=3)) == b"\0\1\2"
    assert https.traffic.byte_count("folder/object") == 3


def test_https_is_refused_by_who_does_not(web, https) -> None:
    stranger = HTTPStore.from_url(https.url, retry_config={"max_retries": 0})

    with pytest.raises(BaseError):
        obstore.head(stranger, "folder/object")

    assert https.traffic.of() == []


def test_https_redirects(web, https, site) -> None:
    site.redirects["/moved"] = f"{https.url}/folder/object"

    assert bytes(obstore.get(web, "moved").bytes()) == CONTENT
    assert [e.status for e in https.traffic.of()] == [302, 200]


def test_https_tells_that_an_object_changed(web, site) -> None:
    etag = obstore.head(web, "folder/object")["e_tag"]
    site.objects["/folder/object"] = CONTENT[::-1]

    with pytest.raises(PreconditionError):
        obstore.get(web, "folder/object", options={"if_match": etag, "range": (0, 10)})


def test_googles_store_lists_and_reads_ranges(google) -> None:
    google.make_bucket("models")
    google.put("models", "a/object", CONTENT)
    store = GCSStore(
        "models", service_account_key=google.account, client_options={"allow_http": True}
    )

    listed = [item["path"] for page in obstore.list(store, "a") for item in page]

    assert listed == ["a/object"]
    assert bytes(obstore.get_range(store, "a/object", start=256, length=3)) == b"\0\1\2"


@pytest.mark.slow
def test_mlflow_knows_a_registered_model_by_version_and_alias(mlflow, tmp_path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [result])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())

    version = mlflow.register("churn", tmp_path / "model.onnx", "champion")

    asked = (
        "import json, sys, mlflow; from mlflow import artifacts;"
        "mlflow.set_tracking_uri(sys.argv[1]);"
        "client = mlflow.MlflowClient();"
        "found = client.get_model_version_by_alias('churn', 'champion');"
        "path = artifacts.download_artifacts('models:/churn@champion', dst_path=sys.argv[2]);"
        "print(json.dumps([int(found.version), sorted(mlflow.models.Model.load(path).flavors)]))"
    )
    answer = subprocess.run(
        [mlflow.python, "-c", asked, mlflow.url, tmp_path / "got"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(answer.stdout.splitlines()[-1]) == [version, ["onnx", "python_function"]]
    assert (tmp_path / "got" / "model.onnx").exists()
