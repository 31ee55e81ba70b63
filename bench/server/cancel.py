"""Cancellation: time until the server idles after a client of each language cancels a long call."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / "conformance"), str(ROOT / "clients" / "tests")]

from harness import PYTHON, Runner, Server, serving  # noqa: E402 - beside the conformance cases
from registry import registered  # noqa: E402 - likewise

WANTED_SECONDS = 0.5
CALLS = 5
_CASE = "error-cancelled"


def main() -> None:
    subprocess.run(["make", "--silent", "clients"], cwd=ROOT, check=True)
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        for runner in (PYTHON, *registered().values()):
            found = sorted(idle_after(server, runner, Path(folder)) for _ in range(CALLS))
            print(
                f"{runner.name}: idle {1000 * found[CALLS // 2]:.0f} ms after the client has let "
                f"go, {1000 * found[-1]:.0f} ms at most   (at most {1000 * WANTED_SECONDS:.0f})"
            )


def idle_after(server: Server, runner: Runner, folder: Path) -> float:
    """Return the seconds from the client's error, as it notes it in a file, to an idle server."""
    note = folder / f"{_CASE}.json"
    note.unlink(missing_ok=True)
    command = [*runner.command, str(ROOT / "tests"), str(folder), _CASE]
    with subprocess.Popen(command, env=os.environ | server.environment) as process:
        while not is_computing(server):
            time.sleep(0.01)
        while is_computing(server):
            time.sleep(0.001)
        idle = time.time()
    assert process.returncode == 0  # noqa: S101 - else it is no figure
    return max(0.0, idle - note.stat().st_mtime)


def is_computing(server: Server) -> bool:
    """Ask the server's metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics") as page:
        return b"\nonnxplain_running_requests 0.0" not in page.read()


if __name__ == "__main__":
    main()
