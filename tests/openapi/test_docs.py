"""The description and its page are served, and need nobody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask import Flask

PAGE = ["/docs", "/docs/docs.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"]


def test_the_description_is_served_as_it_is_committed(app: Flask, description) -> None:
    answer = app.test_client().get("/openapi.json")

    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    assert answer.get_json() == description


@pytest.mark.parametrize("path", ["/openapi.json", *PAGE])
def test_what_a_client_has_is_not_sent_again(app: Flask, path: str) -> None:
    client = app.test_client()
    tag = client.get(path).headers["ETag"]

    again = client.get(path, headers={"If-None-Match": tag})
    other = client.get(path, headers={"If-None-Match": '"another"'})

    assert re.fullmatch(r'"[0-9a-f]{64}"', tag), "a strong tag"
    assert (again.status_code, again.data) == (304, b"")
    assert other.status_code == 200


def test_the_page_takes_all_it_needs_from_this_server(app: Flask) -> None:
    page = app.test_client().get("/docs")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)

    assert page.mimetype == "text/html"
    assert {f"/{name}" for name in named} - {"/data:,"} == {*PAGE, "/openapi.json"} - {"/docs"}


@pytest.mark.parametrize("path", PAGE)
def test_a_browser_is_told_to_load_nothing_from_elsewhere(app: Flask, path: str) -> None:
    answer = app.test_client().get(path)
    policy = dict(
        part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; ")
    )

    assert answer.status_code == 200
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    sources = {source for value in policy.values() for source in value.split()}
    assert sources == {"'none'", "'self'", "data:"}
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/docs/", "/docs/index.html", "/docs/..%2Frest.py", "/static/x"])
def test_no_other_file_is_served(app: Flask, path: str) -> None:
    assert app.test_client().get(path).status_code == 404


def test_answers_of_data_keep_the_strictest_policy(app: Flask) -> None:
    policy = app.test_client().get("/version").headers["Content-Security-Policy"]

    assert policy == "default-src 'none'; frame-ancestors 'none'"


def test_nothing_of_the_page_names_another_address() -> None:
    folder = Path(__file__).parents[2] / "service/onnxplain_server/transport/rest"
    for name in ("docs.html", "docs.js"):
        assert "://" not in (folder / name).read_text(encoding="utf-8")
