"""Pages of other origins in Chromium, against a server on this machine."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.transport.conftest import PATIENCE

pytestmark = pytest.mark.slow

# A name of the attacker, bound to this machine.
PAGE = "page.test"

SCRIPT = """<!doctype html><script type="module">
const requests = %s;
const answers = [];
for (const [url, options] of requests) {
  try {
    const answer = await fetch(url, options);
    answers.push([answer.type === "opaque" ? "opaque" : answer.status, await answer.text()]);
  } catch (error) {
    answers.push(["unreadable", String(error)]);
  }
}
await fetch("/answers", { method: "POST", body: JSON.stringify(answers) });
</script>"""


class Pages:
    """Web server of a page that sends requests, and tells here what it could read."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answers: queue.Queue[list[tuple[Any, str]]] = queue.Queue()
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer((SCRIPT % json.dumps(pages.requests)).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer(b"")
                pages.answers.put(json.loads(body))

            def _answer(self, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_arguments: object) -> None:
                """Write no log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.origin = f"http://{PAGE}:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def pages() -> Iterator[Pages]:
    made = Pages()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def ask(pages: Pages, program: Callable[[str], str], tmp_path: Path) -> Callable[..., Any]:
    """Let a page in Chromium send requests; return what it could read of each answer."""

    def asked(*requests: tuple[str, dict[str, Any]]) -> list[tuple[Any, str]]:
        pages.requests[:] = requests
        command = [*chromium(program("chromium"), tmp_path), "--remote-debugging-port=0"]
        with subprocess.Popen([*command, pages.origin], stderr=subprocess.DEVNULL) as process:
            try:
                return pages.answers.get(timeout=PATIENCE)
            finally:
                process.terminate()

    return asked


def chromium(program: str, folder: Path) -> list[str]:
    """A browser whose name server says that the attacker's name is this machine."""
    return [
        *(program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"),
        f"--host-resolver-rules=MAP {PAGE} 127.0.0.1",
    ]


def form(body: str) -> dict[str, Any]:
    """A request that browsers send without asking the server first."""
    return {"method": "POST", "mode": "no-cors", "body": body, "headers": {}}


POST = {"method": "POST", "body": "{}", "headers": {"Content-Type": "application/json"}}


def test_a_foreign_page_makes_nothing_compute_and_reads_nothing(start, make_runner, ask) -> None:
    runner = make_runner()
    url = f"http://localhost:{start(runner).server.rest_port}"

    found = ask(
        (f"{url}/v1/explanations", POST),
        (f"{url}/v1/explanations", form("{}")),
        (f"{url}/version", {}),
    )

    assert [status for status, _ in found] == ["unreadable"] * 3, found
    assert runner.requests == []


@pytest.mark.parametrize(("allowed", "text"), [(None, "MISDIRECTED_REQUEST"), ("*", '"version"')])
def test_a_name_bound_to_this_machine_does_not_lead_to_the_server(
    start, make_runner, program, tmp_path, allowed: str | None, text: str
) -> None:
    client = start(make_runner(), allowed_hosts=allowed)
    command = chromium(program("chromium"), tmp_path)

    address = f"http://{PAGE}:{client.server.rest_port}/version"
    shown = subprocess.run([*command, "--dump-dom", address], capture_output=True, check=True)

    assert text in shown.stdout.decode()


def test_a_page_of_a_listed_origin_computes_and_reads(start, make_runner, ask, pages) -> None:
    runner = make_runner()
    client = start(runner, allowed_origins=pages.origin)
    url = f"http://localhost:{client.server.rest_port}"
    bad = POST | {"body": "{"}

    found = ask((f"{url}/v1/explanations", POST), (f"{url}/v1/explanations", bad))

    assert [status for status, _ in found] == [200, 400], found
    assert "receipt" in json.loads(found[0][1])
    assert json.loads(found[1][1])["reason"] == "INVALID_REQUEST"
    assert len(runner.requests) == 1
