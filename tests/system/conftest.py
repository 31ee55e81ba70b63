"""A real server: the installed command, in a process of its own, on free ports."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tools import ports

_LOOKS = 20
"""At a server without a thread that wants the processor, until it rests."""


@dataclass(frozen=True)
class Server:
    """Where it listens, what it uses, and what it has logged."""

    process: subprocess.Popen[str]
    metrics_port: int
    rest_port: int
    grpc_port: int
    log: Sequence[str]

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.rest_port}"

    def workers(self) -> set[int]:
        """Processes below the server's."""
        return _family(self.process.pid)

    def children(self) -> set[int]:
        """Processes that the server has started itself."""
        return _children(self.process.pid)

    def processor_seconds(self) -> float:
        """Of the server and its workers, and of those that have ended."""
        return sum(map(_processor_seconds, [self.process.pid, *self.workers()]))

    def rests(self, work_seconds: float) -> bool:
        """Whether nothing computes any more, long before work that takes so long would end."""
        start, looks = self.processor_seconds(), 0
        while looks < _LOOKS and self.processor_seconds() - start < work_seconds:
            # A worker that waits for an answer to one of its steps goes on soon.
            looks = 0 if any(map(_wants_processor, self.workers())) else looks + 1
            time.sleep(0.02)
        return looks == _LOOKS

    def wait_for_log(self, awaited: str, *failures: str) -> None:
        """Wait for a line with these words; fail at one with the words of a failure."""
        while not any(awaited in line for line in self.log):
            assert self.process.poll() is None
            assert not any(words in line for words in failures for line in self.log), self.log
            time.sleep(0.05)

    def wait_for_explainer(self, name: str) -> None:
        """Wait until the explainer of this model is ready."""
        self.wait_for_log(f"explainer of {name} is ready", "cannot explain", "failed unexpectedly")

    def memory(self, what: str) -> int:
        """Bytes of VmRSS (now) or VmHWM (at most): of the server and of its largest worker."""
        workers = (_memory(pid, what) for pid in self.workers())
        return _memory(self.process.pid, what) + max(workers, default=0)


def _family(pid: int) -> set[int]:
    """Processes below this one."""
    found = _children(pid)
    return found.union(*map(_family, found))


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):  # of a process or a thread that ends meanwhile
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found |= {int(child) for child in (thread / "children").read_text().split()}
    return found


def _processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # Its own, and that of children that it has waited for.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _wants_processor(pid: int) -> bool:
    """Whether a process works, or would if the machine were not busy."""
    with suppress(OSError):  # of a process or a thread that ends meanwhile
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                if (thread / "stat").read_text().rpartition(")")[2].split()[0] == "R":
                    return True
    return False


def _memory(pid: int, what: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(rf"^{what}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers; settings by name. Those that a test does not kill must end well.

    `python_path` is a folder with another copy of the package.
    """
    with ExitStack() as running:
        yield lambda python_path="", **settings: running.enter_context(
            _running(settings, python_path)
        )


@pytest.fixture(scope="module")
def lasting_serve() -> Iterator[Callable[..., Server]]:
    """Start servers for all tests of a file; settings by name."""
    with ExitStack() as running:
        yield lambda **settings: running.enter_context(_running(settings))


@pytest.fixture(scope="session")
def lasting_server() -> Iterator[Server]:
    """A server with its default settings, for all tests that leave it as it was."""
    with _running({}) as running:
        yield running


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A server with its default settings."""
    return serve()


@contextmanager
def _running(settings: Mapping[str, object], python_path: Path | str = "") -> Iterator[Server]:
    given = {"rest_port": 0, "grpc_port": 0, "metrics_port": 0, **settings}
    variables = {f"ONNXPLAIN_{name.upper()}": str(value) for name, value in given.items()}
    with subprocess.Popen(
        [sys.executable, "-m", "onnxplain_server", "serve"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(python_path)} | variables,
    ) as process:
        assert process.stderr is not None
        log: list[str] = []
        ports = next(filter(None, map(listening, _kept(process.stderr, log))), None)
        assert ports is not None, "".join(log)
        # Read all the time, or a server that logs much would wait for us.
        reader = threading.Thread(target=log.extend, args=(process.stderr,))
        reader.start()
        metrics, rest, grpc = ports
        yield Server(process, metrics, rest, grpc, log)
        killed = process.poll() is not None
        process.send_signal(signal.SIGTERM)
        code = process.wait(600)
        reader.join()
        assert killed or code == 0, "".join(log)


def _kept(lines: Iterable[str], log: list[str]) -> Iterator[str]:
    """The lines, which are put into the log as well."""
    for line in lines:
        log.append(line)
        yield line


def listening(line: str) -> list[int] | None:
    """Read the ports from the line that the server logs when it is ready; None from others."""
    found = re.search(r"metrics.*?:(\d+).*REST.*?:(\d+).*gRPC.*?:(\d+)", line)
    return None if found is None else [int(port) for port in found.groups()]


@pytest.fixture(scope="session")
def free_ports() -> Callable[[int], list[int]]:
    """Find so many ports that nobody listens on."""
    return ports.free_ports


@pytest.fixture(scope="session")
def network() -> bytes:
    """Twenty inputs, one hidden layer, one output: every feature interacts with every other."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(20, 16)).astype(np.float32)
    second = rng.normal(size=(16, 1)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["rows", "first"], ["hidden"]),
            helper.make_node("Relu", ["hidden"], ["active"]),
            helper.make_node("MatMul", ["active", "second"], ["score"]),
        ],
        "network",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 20])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(first, "first"), numpy_helper.from_array(second, "second")],
    )
    opset = [helper.make_opsetid("", 17)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opset, ir_version=9)
    content: bytes = model.SerializeToString()
    return content


@pytest.fixture(scope="session")
def rows() -> dict[str, list[float]]:
    """A table of 4,000 distinct rows for the network."""
    values = np.random.default_rng(1).normal(size=(20, 4000))
    return {f"x{j}": values[j].tolist() for j in range(20)}
