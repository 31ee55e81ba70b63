"""A server under test: the installed command, on ports that stay its own over restarts."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_READY_SECONDS = 120.0
_END_SECONDS = 60.0


class Replica:
    """Starts, stops and restarts one server.

    Parameters
    ----------
    name : str
    ports : tuple of int
        For REST, gRPC and metrics.
    settings : mapping of str to str
        Variables of the environment.
    log : Path
        What it says on standard error.
    """

    def __init__(
        self, name: str, ports: tuple[int, int, int], settings: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.rest_port, self.grpc_port, self.metrics_port = ports
        self._settings = settings
        self._log = log
        self.lives = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """The number of its process; 0 where there is none."""
        process = self._process
        return 0 if process is None or process.poll() is not None else process.pid

    @property
    def zygote(self) -> int:
        """The number of the process that workers are forked from; 0 where there is none."""
        return next((pid for pid in children(self.pid) if _computes(pid)), 0)

    @property
    def workers(self) -> list[int]:
        """The numbers of the processes that compute."""
        return children(self.zygote)

    @property
    def forks(self) -> list[int]:
        """The numbers of all workers, those that decode included."""
        return [worker for zygote in children(self.pid) for worker in children(zygote)]

    def start(self) -> None:
        """Start it, without waiting."""
        ports = {"REST": self.rest_port, "GRPC": self.grpc_port, "METRICS": self.metrics_port}
        named = {f"ONNXPLAIN_{name}_PORT": str(port) for name, port in ports.items()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "onnxplain_server", "serve"],
            stderr=subprocess.PIPE,
            process_group=0,  # Ctrl-C is for the run, which ends the others in order
            env={**os.environ, "PYTHONPATH": "", **self._settings, **named},
        )
        # By way of a thread: a limit on the server's files must not meet its log.
        assert self._process.stderr is not None
        self._reader = threading.Thread(target=self._keep_log, args=(self._process.stderr,))
        self._reader.start()
        self.lives += 1

    def wait_ready(self) -> None:
        """Wait until it takes requests.

        Raises
        ------
        RuntimeError
            Where it ended, or does not within two minutes.
        """
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            if self.ask("/readyz") == 200:
                return
            if not self.pid:
                raise RuntimeError(f"replica {self.name} has ended; see {self._log}")
            time.sleep(0.05)
        raise RuntimeError(f"replica {self.name} is not ready; see {self._log}")

    def ask(self, path: str, seconds: float = 5.0) -> int:
        """Return the status of a page, asked for without any proxy; 0 for no answer."""
        try:
            url = f"http://127.0.0.1:{self.rest_port}{path}"
            with urllib.request.urlopen(url, timeout=seconds) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def kill(self) -> None:
        """End it at once."""
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        """Ask it to end; return its exit code."""
        return self._end(signal.SIGTERM)

    def limit(self, kind: int, most: int | None) -> None:
        """Lower a limit of its process; None takes it back."""
        with suppress(ProcessLookupError):
            _, hard = resource.prlimit(self.pid, kind)
            resource.prlimit(self.pid, kind, (hard if most is None else most, hard))

    def _end(self, number: int) -> int:
        process = self._process
        if process is None:
            return 0
        process.send_signal(number)
        code = process.wait(_END_SECONDS)
        if self._reader is not None:
            self._reader.join()
        if process.stderr is not None:
            process.stderr.close()
        return code

    def _keep_log(self, lines: Iterable[bytes]) -> None:
        with self._log.open("ab") as log:
            for line in lines:
                log.write(line)


def children(pid: int) -> list[int]:
    """Processes that this one has started, sorted."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return sorted(found) if pid else []


def _computes(zygote: int) -> bool:
    """Whether the workers of a zygote compute; those of the other one decode."""
    with suppress(OSError):
        return b'"kind": "compute"' in Path(f"/proc/{zygote}/cmdline").read_bytes()
    return False


def signal_to(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
