"""What a process holds is seen."""

from __future__ import annotations

import socket
import subprocess
import sys

from rig import watch

from tools.waiting import until

LEAKING = """
import sys, threading
held, rested = [], threading.Event()
for line in sys.stdin:
    held += [open("/dev/null") for _ in range(20)] + [b"x" * 10_000_000]
    threading.Thread(target=rested.wait, daemon=True).start()
    print("held", flush=True)
"""


def test_descriptors_threads_and_memory_that_are_kept_show() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LEAKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sizes = []
        for _ in range(2):
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            sizes.append(watch.process(process.pid))
        process.stdin.close()

    before, after = sizes
    assert after["descriptors"] == before["descriptors"] + 20
    assert after["threads"] == before["threads"] + 1
    assert after["resident_bytes"] >= before["resident_bytes"] + 9_000_000
    assert after["own_bytes"] >= before["own_bytes"] + 9_000_000


CONNECTED = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
kept = []
for line in sys.stdin:
    kept.append(listener.accept()[0] if line == "accept\\n" else open("/dev/null"))
    print("held", flush=True)
"""


def test_descriptors_of_open_connections_and_of_workers_are_explained() -> None:
    """A connection that the other side has closed is not, since only a leak keeps it."""
    with subprocess.Popen(
        [sys.executable, "-c", CONNECTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())

        def count(worker_count: int = 0) -> float:
            return watch.unexplained(process.pid, worker_count)["unexplained_descriptors"]

        def tell(line: str) -> float:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(line)
            process.stdin.flush()
            process.stdout.readline()
            return count()

        before = count()
        with socket.create_connection(("127.0.0.1", port)):
            assert tell("accept\n") == before
        assert until(lambda: count() == before + 1)  # the end travels
        assert tell("open\n") == before + 2
        assert count(worker_count=1) == before - 1
        process.stdin.close()


def test_a_process_that_is_gone_holds_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()

    assert watch.process(process.pid) == {}
