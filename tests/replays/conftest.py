"""One server for all replays: the installed command, in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest


@dataclass
class Running:
    """Where the server listens, and what it has logged."""

    process: subprocess.Popen[str]
    rest_port: int = 0
    grpc_port: int = 0
    log: list[str] = field(default_factory=list)
    listening: threading.Event = field(default_factory=threading.Event)

    def read_log(self) -> None:
        """Keep the log until it ends; the line with the ports says that the server listens."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if found := re.search(r"REST on .*:(\d+), gRPC on .*:(\d+)", line):
                self.rest_port, self.grpc_port = int(found[1]), int(found[2])
                self.listening.set()
        self.listening.set()


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    """A server with its default settings; ends well after all that it was sent."""
    ports = {f"ONNXPLAIN_{name}_PORT": "0" for name in ("REST", "GRPC", "METRICS")}
    with subprocess.Popen(
        [sys.executable, "-m", "onnxplain_server", "serve"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": ""} | ports,
    ) as process:
        running = Running(process)
        reader = threading.Thread(target=running.read_log)
        reader.start()
        running.listening.wait()
        assert running.rest_port, "".join(running.log)
        yield running
        process.send_signal(signal.SIGTERM)
        code = process.wait(600)
        reader.join()
        assert code == 0, "".join(running.log)
