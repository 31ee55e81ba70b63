"""Fetches from real stores: what is read, and what becomes of their faults."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import Source
from onnxplain.v1.model_pb2 import Model
from onnxplain_server.adapters.sources.fetching import Fetching
from onnxplain_server.core.errors import ExplainError, Reason

from tools.stores.faults import Fault
from tools.stores.faulty_server import of_bytes, serve
from tools.stores.s3_storage import KEY, SECRET

CONTENT = bytes(range(256)) * 400
LIMIT = 2**20
SECONDS = 5.0


@pytest.fixture
def stored(s3: Any, bucket: Any, s3_proxy: Any, keys: Any, fetching: Any) -> tuple[Fetching, str]:
    """A bucket behind the proxy, with an object."""
    s3.put(bucket, "models/churn.onnx", CONTENT)
    listed = {"prefix": f"s3://{bucket}/models/", "endpoint": s3_proxy.url}
    return fetching({**listed, "credentials_file": keys}), f"s3://{bucket}/models/churn.onnx"


def read(fetching: Fetching, uri: str, limit: int = LIMIT) -> tuple[bytes, Source]:
    content, receipt = fetching.read_model(Model(uri=uri), limit, SECONDS, lambda _version: False)
    assert content is not None
    return content, receipt.sources[0]


def refused(fetching: Fetching, uri: str, limit: int = LIMIT) -> ExplainError:
    with pytest.raises(ExplainError) as raised:
        read(fetching, uri, limit)
    assert raised.value.field == "model.uri"
    assert SECRET not in raised.value.message
    return raised.value


def test_an_object_of_s3_is_read_with_its_version(stored: Any) -> None:
    content, source = read(*stored)

    assert content == CONTENT
    assert (source.uri, source.read_byte_count) == (stored[1], len(CONTENT))
    assert hashlib.md5(CONTENT, usedforsecurity=False).hexdigest() in source.version


def test_an_object_that_does_not_exist(stored: Any) -> None:
    assert refused(stored[0], stored[1] + "x").reason is Reason.SOURCE_NOT_FOUND


def test_wrong_keys_are_told_without_them(
    s3: Any, bucket: Any, fetching: Any, tmp_path: Any
) -> None:
    s3.put(bucket, "model.onnx", CONTENT)
    (tmp_path / "wrong").write_text(
        f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = x{SECRET}\n"
    )
    listed = {"prefix": f"s3://{bucket}/", "endpoint": s3.url}

    with_keys = fetching({**listed, "credentials_file": str(tmp_path / "wrong")})
    error = refused(with_keys, f"s3://{bucket}/model.onnx")

    assert error.reason is Reason.SOURCE_FORBIDDEN
    assert "403" in error.message


def test_keys_of_the_environment_are_for_a_platform_identity_alone(
    s3: Any, bucket: Any, fetching: Any, monkeypatch: Any
) -> None:
    s3.put(bucket, "model.onnx", CONTENT)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    listed, uri = {"prefix": f"s3://{bucket}/", "endpoint": s3.url}, f"s3://{bucket}/model.onnx"

    assert read(fetching({**listed, "identity": "platform"}), uri)[0] == CONTENT
    assert refused(fetching(listed), uri).reason is Reason.SOURCE_FORBIDDEN


def test_throttling_is_waited_for(stored: Any, s3_proxy: Any) -> None:
    s3_proxy.faults.add(Fault("churn.onnx", status=503, count=2))

    assert read(*stored)[0] == CONTENT


def test_a_store_that_throttles_on_and_on_is_unavailable(stored: Any, s3_proxy: Any) -> None:
    s3_proxy.faults.add(Fault("churn.onnx", status=503, count=1_000))

    error = refused(*stored)

    assert error.reason is Reason.SOURCE_UNAVAILABLE
    assert "503" in error.message


def test_a_cut_connection_is_asked_again(stored: Any, s3_proxy: Any) -> None:
    s3_proxy.faults.add(Fault("churn.onnx", method="GET", cut_after=1_000))

    assert read(*stored)[0] == CONTENT


def test_a_connection_that_is_always_cut(stored: Any, s3_proxy: Any) -> None:
    s3_proxy.faults.add(Fault("churn.onnx", method="GET", count=1_000, cut_after=1_000))

    assert refused(*stored).reason is Reason.SOURCE_UNAVAILABLE


def test_an_object_that_changes_between_two_reads_is_never_mixed(
    stored: Any, s3: Any, bucket: Any, s3_proxy: Any
) -> None:
    s3_proxy.faults.add(
        Fault(
            "churn.onnx",
            method="GET",
            before=lambda: s3.put(bucket, "models/churn.onnx", CONTENT[::-1]),
        )
    )

    assert refused(*stored).reason is Reason.SOURCE_CHANGED


def versions(fetching: Fetching, uri: str) -> list[str]:
    """Return the versions that a cache is asked for."""
    asked: list[str] = []

    def is_cached(version: str) -> bool:
        asked.append(version)
        return False

    assert fetching.read_model(Model(uri=uri), LIMIT, SECONDS, is_cached)[0] == CONTENT
    return asked


@pytest.mark.parametrize(
    ("etag", "count"), [('"a"', 1), ("a", 1), ('W/"a"', 0), ('""', 0), ("", 0), ('W/""', 0)]
)
def test_only_an_etag_that_tells_each_byte_makes_a_model_reusable(
    fetching: Any, etag: str, count: int
) -> None:
    def answer(request: Any) -> Any:
        if "If-Match" in {name.title() for name in request.headers} and etag.startswith("W/"):
            return of_bytes(HTTPStatus.PRECONDITION_FAILED, {}, b"")
        changed = {"Last-Modified": "Tue, 24 Nov 2026 12:00:00 GMT"}
        headers = {"Content-Length": str(len(CONTENT)), "ETag": etag, **changed}
        return of_bytes(HTTPStatus.OK, headers, b"" if request.method == "HEAD" else CONTENT)

    with serve(answer) as server:
        listed = fetching({"prefix": "s3://bucket/", "endpoint": server.url})

        assert len(versions(listed, "s3://bucket/m.onnx")) == count


def test_an_object_beyond_the_limit_is_not_read(stored: Any, s3_proxy: Any) -> None:
    error = refused(stored[0], stored[1], limit=len(CONTENT) - 1)

    assert error.reason is Reason.MODEL_TOO_LARGE
    assert f"{len(CONTENT):,}" in error.message
    assert s3_proxy.traffic.of("churn.onnx", "GET") == []


def test_the_limit_of_a_prefix_holds_too(s3: Any, bucket: Any, keys: Any, fetching: Any) -> None:
    s3.put(bucket, "model.onnx", CONTENT)
    listed = {"prefix": f"s3://{bucket}/", "endpoint": s3.url, "credentials_file": keys}

    limited = fetching({**listed, "max_bytes": 1_000})

    assert refused(limited, f"s3://{bucket}/model.onnx").reason is Reason.MODEL_TOO_LARGE


def test_a_store_that_is_not_there(fetching: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        nowhere = fetching({"prefix": "s3://bucket/", "endpoint": f"http://127.0.0.1:{port}"})

        assert refused(nowhere, "s3://bucket/m.onnx").reason is Reason.SOURCE_UNAVAILABLE


def test_a_redirect_of_s3_is_not_followed(site_of_secrets: Any, fetching: Any) -> Any:
    def answer(_request: Any) -> Any:
        return of_bytes(HTTPStatus.TEMPORARY_REDIRECT, {"Location": site_of_secrets.url}, b"")

    with serve(answer) as server:
        listed = fetching({"prefix": "s3://bucket/", "endpoint": server.url})
        error = refused(listed, "s3://bucket/m.onnx")

    assert error.reason is Reason.SOURCE_FORBIDDEN
    assert "redirect" in error.message
    assert site_of_secrets.traffic.of() == []


@pytest.fixture
def site_of_secrets() -> Iterator[object]:
    """A server that nobody has listed."""
    with serve(lambda _request: of_bytes(HTTPStatus.OK, {}, b"secret")) as server:
        yield server


def test_googles_store(google: Any, fetching: Any, tmp_path: Any) -> None:
    google.make_bucket("fetched")
    google.put("fetched", "models/a b.onnx", CONTENT)
    (tmp_path / "account.json").write_text(google.account)
    listed = {"prefix": "gs://fetched/models", "endpoint": google.url}

    stored = fetching({**listed, "credentials_file": str(tmp_path / "account.json")})

    content, source = read(stored, "gs://fetched/models/a b.onnx")
    assert content == CONTENT
    assert source.version


@pytest.fixture
def web(https: Any, site: Any, authority: Any, fetching: Any) -> tuple[Fetching, str]:
    site.objects["/models/churn.onnx"] = CONTENT
    url = https.url.replace("127.0.0.1", "localhost")
    listed = fetching({"prefix": f"{url}/models/", "ca_file": str(authority.file)})
    return listed, f"{url}/models/churn.onnx"


def test_a_web_server_with_a_private_certificate(web: Any, https: Any) -> None:
    content, source = read(*web)

    assert content == CONTENT
    assert source.version
    assert https.traffic.byte_count("churn.onnx") == len(CONTENT)


def test_a_certificate_that_nobody_trusts(https: Any, site: Any, fetching: Any) -> None:
    site.objects["/models/churn.onnx"] = CONTENT
    listed = fetching({"prefix": f"{https.url}/models/"})

    error = refused(listed, f"{https.url}/models/churn.onnx")

    assert error.reason is Reason.SOURCE_FORBIDDEN
    assert "ca_file" in error.message
    assert https.traffic.of() == []


def test_a_header_of_the_operator_goes_to_the_web_server(
    https: Any, site: Any, authority: Any, fetching: Any, tmp_path: Any
) -> None:
    site.objects["/models/churn.onnx"] = CONTENT
    site.required["authorization"] = "Bearer the-token"
    (tmp_path / "header").write_text("Bearer the-token\n")
    listed = {"prefix": f"{https.url}/models/", "ca_file": str(authority.file)}
    uri = f"{https.url}/models/churn.onnx"

    assert refused(fetching(listed), uri).reason is Reason.SOURCE_FORBIDDEN
    with_header = fetching({**listed, "credentials_file": str(tmp_path / "header")})
    assert read(with_header, uri)[0] == CONTENT


@pytest.mark.parametrize("target", ["/models/other.onnx", "/private/secret.onnx", "elsewhere"])
def test_redirects_of_a_web_server_are_not_followed(
    web: Any, site: Any, https: Any, site_of_secrets: Any, target: Any
) -> None:
    site.objects["/private/secret.onnx"] = site.objects["/models/other.onnx"] = b"secret"
    site.redirects["/models/moved.onnx"] = site_of_secrets.url if target == "elsewhere" else target

    error = refused(web[0], web[1].replace("churn", "moved"))

    assert error.reason is Reason.SOURCE_FORBIDDEN
    assert "redirect" in error.message
    assert site_of_secrets.traffic.of() == []
    assert not https.traffic.of("secret")


def resolving_to(*addresses: str) -> Callable[..., list[object]]:
    """Stand in the place of the resolver: each call gives the next address, then the last one."""
    left = list(addresses)

    def resolve(_host: Any, port: Any, **_facts: Any) -> Any:
        address = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    return resolve


def test_a_name_that_leads_to_a_private_address_is_refused(
    site_of_secrets: Any, fetching: Any, monkeypatch: Any
) -> None:
    port = site_of_secrets.url.rpartition(":")[2]
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to("127.0.0.1"))
    listed = fetching({"prefix": "s3://bucket/", "endpoint": f"http://rebinding.test:{port}"})

    error = refused(listed, "s3://bucket/model.onnx")

    assert error.reason is Reason.SOURCE_FORBIDDEN
    assert "127.0.0.1" in error.message
    assert site_of_secrets.traffic.of() == []


def test_a_name_that_changes_its_answer_is_checked_at_each_connection(
    fetching: Any, monkeypatch: Any
) -> Any:
    answers = resolving_to("127.0.0.1", "169.254.169.254")
    monkeypatch.setattr(socket, "getaddrinfo", answers)

    def answer(
        _request: Any,
    ) -> Any:  # HTTP/1.0 by its header: each request has a connection of its own
        return of_bytes(HTTPStatus.NOT_FOUND, {"Connection": "close"}, b"")

    with serve(answer) as server:
        port = server.url.rpartition(":")[2]
        listed = {"prefix": "s3://bucket/", "endpoint": f"http://rebinding.test:{port}"}
        changing = fetching({**listed, "networks": ["127.0.0.1/32"]})

        first = refused(changing, "s3://bucket/a.onnx")
        second = refused(changing, "s3://bucket/b.onnx")

    assert first.reason is Reason.SOURCE_NOT_FOUND
    assert second.reason is Reason.SOURCE_FORBIDDEN
    assert "169.254.169.254" in second.message


@pytest.mark.slow
def test_a_model_of_mlflow_by_version_and_alias(mlflow: Any, fetching: Any) -> None:
    model = Path(__file__).parents[2] / "models" / "sklearn_linear.onnx"
    version = mlflow.register("fetched", model, "champion")
    registry = fetching({"prefix": "models:/fetched", "endpoint": mlflow.url})

    for uri in (f"models:/fetched/{version}", "models:/fetched@champion"):
        content, source = read(registry, uri)
        assert hashlib.sha256(content).digest() == hashlib.sha256(model.read_bytes()).digest()
        assert (source.uri, source.version) == (uri, str(version))
        assert source.resolved_uri.endswith("model.onnx")
    for uri in ("models:/fetched/999", "models:/fetched@nobody"):
        assert refused(registry, uri).reason is Reason.SOURCE_NOT_FOUND
    assert refused(registry, "models:/other/1").reason is Reason.SOURCE_NOT_LISTED


def test_a_slow_store_ends_with_the_time_of_the_fetch(stored: Any, s3_proxy: Any) -> None:
    event = threading.Event()
    s3_proxy.faults.add(Fault("churn.onnx", count=1_000, held_by=event))

    with pytest.raises(ExplainError) as raised:
        stored[0].read_model(Model(uri=stored[1]), LIMIT, 0.3, lambda _version: False)
    event.set()

    assert raised.value.reason is Reason.SOURCE_UNAVAILABLE
