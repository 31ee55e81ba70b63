"""What a process holds is seen."""

from __future__ import annotations

import subprocess
import sys

from rig import watch

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


def test_a_process_that_is_gone_holds_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()

    assert watch.process(process.pid) == {}
