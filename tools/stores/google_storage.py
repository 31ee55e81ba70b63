"""Google's Cloud Storage by fake-gcs-server, in memory."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tools.ports import free_port
from tools.stores.process import running


@dataclass(frozen=True)
class Google:
    """Store that runs.

    Attributes
    ----------
    account : str
        Service account as JSON, by which clients of object_store find this server.
    """

    url: str
    account: str

    def make_bucket(self, bucket: str) -> None:
        self._post("/storage/v1/b", json.dumps({"name": bucket}).encode())

    def put(self, bucket: str, path: str, content: bytes) -> None:
        name = quote(path, safe="")
        self._post(f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}", content)

    def _post(self, path: str, body: bytes) -> None:
        request = urllib.request.Request(f"{self.url}{path}", body, method="POST")  # noqa: S310
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - of this machine
            answer.read()


@contextmanager
def google(program: str, folder: Path) -> Iterator[Google]:
    """Serve an empty store; `folder` takes its log."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    names = ["-public-host", f"127.0.0.1:{port}", "-external-url", url]
    account = {
        "gcs_base_url": url,
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    with running([program, *where, *names], port, folder / "google.log"):
        yield Google(url, json.dumps(account))
