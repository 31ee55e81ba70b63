"""Files of the page: public, compressed, cached by their names, under a strict policy."""

from __future__ import annotations

import gzip
import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations

TOKENS = "onnxplain-tokens.toml"


@pytest.fixture
def client(start, make_runner):
    return start(make_runner())


def assets(client) -> list[str]:
    """Paths of the files that the page names."""
    text = client.rest("GET", "/").body.decode()
    return re.findall(r'(?:href|src)="(page/[^"]+)"', text)


def test_the_root_is_a_page_that_names_no_other_origin(client) -> None:
    reply = client.rest("GET", "/")

    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert reply.headers["Cache-Control"] == "no-cache"
    assert not re.search(rb'(href|src)="(https?:)?//', reply.body)
    assert not re.search(rb"<script(?![^>]* src=)|<style| on\w+=| style=", reply.body)
    assert assets(client)


def test_its_files_are_found_relative_to_it_and_kept_for_ever(client) -> None:
    for path in assets(client):
        reply = client.rest("GET", f"/{path}")

        assert reply.status == 200
        assert reply.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert client.rest("HEAD", f"/{path}").body == b""


def test_files_are_compressed_for_those_who_can_read_it(client) -> None:
    path = f"/{assets(client)[-1]}"

    plain = client.rest("GET", path)
    short = client.rest("GET", path, headers={"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in plain.headers
    assert short.headers["Content-Encoding"] == "gzip"
    assert short.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert gzip.decompress(short.body) == plain.body
    assert len(short.body) < len(plain.body) / 2
    assert short.headers["Etag"] != plain.headers["Etag"]


def test_what_has_not_changed_is_not_sent_again(client) -> None:
    tag = client.rest("GET", "/").headers["Etag"]

    reply = client.rest("GET", "/", headers={"If-None-Match": tag})

    assert (reply.status, reply.body) == (304, b"")


def test_the_first_view_is_less_than_300_kilobytes(client) -> None:
    compressed = {"Accept-Encoding": "gzip"}
    files = [client.rest("GET", path, headers=compressed) for path in ("/", *_slashed(client))]

    assert sum(len(file.body) for file in files) < 300_000


def _slashed(client) -> list[str]:
    return [f"/{path}" for path in assets(client)]


def test_nothing_foreign_or_inline_runs(client) -> None:
    policy = client.rest("GET", "/").headers["Content-Security-Policy"]

    assert dict(part.split(" ", 1) for part in policy.split("; ")) == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data: blob:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


def test_other_names_are_no_files(client) -> None:
    for path in ("/page/", "/page/index.html", "/page/../routes.py", "/page/%2e%2e/routes.py"):
        assert client.rest("GET", path).status == 404


def test_a_setting_turns_the_page_off(start, make_runner) -> None:
    client = start(make_runner(), page=False)

    assert client.rest("GET", "/").status == 404
    assert client.rest("GET", "/page/config.json").status == 404


def test_the_page_loads_before_its_reader_has_logged_in(start, make_runner, tmp_path: Path) -> None:
    tokens = tmp_path / TOKENS
    tokens.write_text(f"reader {'0' * 64}\n")
    client = start(make_runner(), tokens_file=str(tokens))

    for path in ("/", "/page/config.json", *_slashed(client)):
        assert client.rest("GET", path).status == 200
    assert client.rest("GET", "/page/other").status == 401
    assert client.post({}).status == 401


def test_the_page_knows_the_provider_of_logins_and_may_ask_no_other(start, make_runner) -> None:
    client = start(
        make_runner(),
        oidc_issuer="http://127.0.0.1:9/realm",
        oidc_audience="onnxplain",
        oidc_client_id="the-page",
        oidc_scopes="openid onnxplain",
    )

    config = client.rest("GET", "/page/config.json")
    policy = client.rest("GET", "/").headers["Content-Security-Policy"]

    assert json.loads(config.body)["openid"] == {
        "issuer": "http://127.0.0.1:9/realm",
        "clientId": "the-page",
        "scopes": ["openid", "onnxplain"],
    }
    assert config.headers["Cache-Control"] == "no-cache"
    assert "connect-src 'self' http://127.0.0.1:9;" in policy


def test_what_the_page_knows_before_it_asks(start, make_runner) -> None:
    client = start(make_runner(), max_model_bytes=1_000, max_table_bytes=2_000)

    assert client.rest("GET", "/page/config.json").json == {
        "version": version("onnxplain-server"),
        "needsToken": False,
        "uploadBytes": {"model": 1_000, "table": 2_000},
        "hasOperations": False,
        "hasSources": False,
    }


def test_the_page_knows_what_the_settings_allow(start, make_runner, tmp_path: Path) -> None:
    tokens, sources = tmp_path / TOKENS, tmp_path / "sources.toml"
    tokens.write_text(f"reader {'0' * 64}\n")
    sources.write_text("")
    operations = MemoryOperations()
    client = start(
        make_runner(), operations=operations, tokens_file=str(tokens), sources_file=str(sources)
    )

    config = client.rest("GET", "/page/config.json").json

    assert (config["needsToken"], config["hasOperations"], config["hasSources"]) == (True,) * 3
