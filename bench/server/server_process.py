"""Server in a process of its own, measured from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.request import urlopen

_READY = re.compile(r"metrics.*?:(\d+).*REST.*?:(\d+).*gRPC.*?:(\d+)")


@dataclass(frozen=True, slots=True)
class Server:
    """Ports, process id and startup seconds of a server."""

    metrics_port: int
    rest_port: int
    grpc_port: int
    pid: int
    start_seconds: float

    @property
    def endpoint(self) -> str:
        """Its address for gRPC."""
        return f"127.0.0.1:{self.grpc_port}"

    @property
    def explanations(self) -> str:
        """The address of explanations over REST."""
        return f"http://127.0.0.1:{self.rest_port}/v1/explanations"

    def metric(self, line: str) -> float:
        """The value of a line of its metrics, by name and labels."""
        with urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics") as reply:
            lines = reply.read().decode().splitlines()
        return next(float(text.split(" ")[-1]) for text in lines if text.startswith(f"{line} "))


@contextmanager
def served(environ: Mapping[str, str] = os.environ, /, **settings: object) -> Iterator[Server]:
    """Run a server on free ports; settings by name, beside the variables of an environment."""
    environment = {"rest_port": 0, "grpc_port": 0, "metrics_port": 0, **settings}
    begin = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "onnxplain_server", "serve"],
        stderr=subprocess.PIPE,
        text=True,
        env={
            **environ,
            **{f"ONNXPLAIN_{name.upper()}": str(value) for name, value in environment.items()},
        },
    ) as process:
        assert process.stderr is not None  # noqa: S101 - of PIPE
        ports = next(match for line in process.stderr if (match := _READY.search(line)))
        seconds = time.monotonic() - begin
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        try:
            yield Server(int(ports[1]), int(ports[2]), int(ports[3]), process.pid, seconds)
        finally:
            process.terminate()
            reader.join()
