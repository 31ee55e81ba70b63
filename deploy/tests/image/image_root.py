"""The root of an image, as an engine of containers runs it; and its server."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

PATIENCE = 300.0
BUILDAH = shlex.split(os.environ.get("BUILDAH", "buildah"))
PORTS = {f"ONNXPLAIN_{name}_PORT": "0" for name in ("REST", "GRPC", "METRICS")}

# Inside namespaces of its own: the root of the image is read-only, and /tmp is its own and empty.
ENTER = """
set -e
mount --bind "$1" "$1"
mount --options remount,bind,ro "$1"
mount --types tmpfs tmpfs "$1/tmp"
mount --types proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1 user=$2
shift 2
exec setpriv --no-new-privs chroot --userspec="$user" "$root" "$@"
"""


@dataclass(frozen=True)
class Image:
    """The root of the image, and what it says of itself."""

    root: Path
    configuration: Mapping[str, Any]

    def command(self, *words: str, **variables: str) -> list[str]:
        """What runs words inside, with the variables of the image and others."""
        given = [
            *self.configuration["Env"],
            *(f"{name}={each}" for name, each in variables.items()),
        ]
        user = self.configuration["User"]
        enter = ["unshare", "--mount", "sh", "-c", ENTER, "sh", str(self.root), user]
        # The image's own env, since its PATH finds the words.
        return [*enter, "/usr/bin/env", "--ignore-environment", *given, *words]

    def output(self, *words: str, **variables: str) -> str:
        return subprocess.check_output(
            self.command(*words, **variables), text=True, timeout=PATIENCE
        )


@dataclass(frozen=True)
class Server:
    """The image's own command, running."""

    process: subprocess.Popen[str]
    metrics_port: int
    rest_port: int
    grpc_port: int
    seconds: float
    """From its start until it was ready."""

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    def status(self) -> dict[str, str]:
        """What the kernel says of the process."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def running(self) -> int:
        """Requests that are computed."""
        with urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=PATIENCE) as reply:
            page = reply.read().decode()
        found = re.search(r"^onnxplain_running_requests (\S+)", page, re.MULTILINE)
        assert found is not None
        return int(float(found[1]))


def buildah(*words: str) -> str:
    """Return what buildah prints."""
    return subprocess.check_output([*BUILDAH, *words], text=True).strip()


@contextmanager
def mounted(name: str) -> Iterator[Image]:
    """Mount the root of an image that buildah has."""
    container = buildah("from", "--pull-never", name)
    try:
        root = Path(buildah("mount", container))
        yield Image(root, json.loads(buildah("inspect", container))["Docker"]["config"])
    finally:
        buildah("rm", container)


@contextmanager
def running(image: Image, **variables: str) -> Iterator[Server]:
    """Start the image as an engine of containers would; it must end well."""
    words = [*image.configuration["Entrypoint"], *image.configuration["Cmd"]]
    begin = time.monotonic()
    with subprocess.Popen(
        image.command(*words, **PORTS, **variables), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        log: list[str] = []
        ports = next(filter(None, (_ports(line, log) for line in process.stderr)), None)
        assert ports is not None, "".join(log)
        seconds = time.monotonic() - begin
        reader = threading.Thread(target=log.extend, args=(process.stderr,))
        reader.start()
        try:
            yield Server(process, *ports, seconds)
        finally:
            process.terminate()
            code = process.wait(PATIENCE)
            reader.join()
        assert code == 0, "".join(log)


def _ports(line: str, log: list[str]) -> tuple[int, int, int] | None:
    log.append(line)
    found = re.search(r"metrics.*?:(\d+).*REST.*?:(\d+).*gRPC.*?:(\d+)", line)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))
