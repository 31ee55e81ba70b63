"""The page behind HAProxy, which publishes it below a path of another origin."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import pytest

from tools import ports

PATIENCE = 300.0
CONFIGURATION = """
defaults
    mode http
    timeout connect 60s
    timeout client 300s
    timeout server 300s
frontend public
    bind 127.0.0.1:{port}
    http-request redirect location /models/ code 308 if {{ path /models }}
    http-request deny deny_status 404 unless {{ path_beg /models/ }}
    http-request replace-path /models/(.*) /\\1
    default_backend replica
backend replica
    server one 127.0.0.1:{rest_port}
"""


@pytest.fixture(scope="module")
def page(
    lasting_server: Any, program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Return the address of the page, below a path."""
    haproxy = program("haproxy")
    (port,) = ports.free_ports(1)
    file = tmp_path_factory.mktemp("proxy") / "haproxy.cfg"
    file.write_text(CONFIGURATION.format(port=port, rest_port=lasting_server.rest_port))
    with subprocess.Popen([haproxy, "-db", "-f", file], stderr=subprocess.DEVNULL) as proxy:
        url = f"http://127.0.0.1:{port}/models"
        _wait(url)
        yield url
        proxy.kill()


def _wait(url: str) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(url, timeout=PATIENCE):  # noqa: S310 - our own
                return
        except HTTPError:
            raise
        except URLError:
            assert time.monotonic() < end
            time.sleep(0.01)


def ask(url: str, body: bytes | None = None, **headers: str) -> tuple[str, int, str]:
    """Return the final address, the status and the text."""
    try:
        with urlopen(Request(url, body, headers), timeout=PATIENCE) as reply:  # noqa: S310 - ours
            return reply.url, reply.status, reply.read().decode()
    except HTTPError as error:
        return url, error.code, ""


def test_all_that_the_page_names_is_below_that_path(page) -> None:
    url, status, text = ask(page)
    named = re.findall(r'(?:href|src)="([^"]+)"', text)
    files = [urljoin(url, each) for each in named if not each.startswith("data:")]
    # Files that are loaded when they are needed are named relative to those that name them.
    for each in list(files):
        chunks = re.findall(r'[("\']\./([\w-]+\.(?:js|css))', ask(each)[2])
        files += [urljoin(each, name) for name in chunks]

    assert (url, status) == (f"{page}/", 200)
    assert len(files) > 2
    assert {ask(each)[1] for each in {*files, urljoin(url, "page/config.json")}} == {200}
    assert all(each.startswith(f"{page}/page/") for each in files)


def test_pages_of_the_proxys_origin_may_ask_and_others_not(page) -> None:
    origin = page.removesuffix("/models")

    def status(origin: str) -> int:
        headers = {"Origin": origin, "Content-Type": "application/json"}
        return ask(f"{page}/v1/explanations", b"{}", **headers)[1]

    assert status(origin) == 400
    assert status("https://evil.example") == 403
