"""The setting `isolation`, on kernels that lack a protection: a real server, a real refusal.

What a kernel lacks is made by a seccomp filter around the server, under which the system call that
sets the protection up fails as it does on such a kernel.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys

import pytest

_PRCTL = {"x86_64": 157, "aarch64": 167}
LACKING = {
    # The system call, its first argument if that matters, and the error: ENOSYS or EINVAL.
    "landlock": (444, None, 38),
    "seccomp": (_PRCTL.get(platform.machine(), 0), 22, 22),
}
LAUNCH = """
import ctypes, os, struct, sys
number, first, error = {lack}
def step(code, value, yes=0, no=0):
    return struct.pack("<HBBI", code, yes, no, value)
steps = [step(0x20, 0), step(0x15, number, 0, 3 if first is not None else 1)]
if first is not None:
    steps += [step(0x20, 16), step(0x15, first, 0, 1)]
steps += [step(0x06, 0x00050000 | error), step(0x06, 0x7FFF0000)]
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))
code = b"".join(steps)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(steps), code)), 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-m", "onnxplain_server", "serve"])
"""
PORTS = {f"ONNXPLAIN_{name}_PORT": "0" for name in ("REST", "GRPC", "METRICS")}

pytestmark = pytest.mark.skipif(
    platform.machine() not in _PRCTL, reason="the number of prctl is known on x86-64 and ARM only"
)


def start(lacking: str, isolation: str) -> subprocess.Popen[str]:
    variables = {"PYTHONPATH": "", "ONNXPLAIN_ISOLATION": isolation, **PORTS}
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCH.format(lack=LACKING[lacking])],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )


@pytest.mark.parametrize("lacking", ["landlock", pytest.param("seccomp", marks=pytest.mark.slow)])
def test_require_refuses_to_start_and_names_what_is_missing(lacking: str) -> None:
    with start(lacking, "require") as process:
        *_, last = process.communicate()[1].splitlines()

    assert process.returncode == 1
    assert "MISSING_PROTECTIONS" in last
    assert f"denies workers {lacking}" in last
    assert "ONNXPLAIN_ISOLATION (--isolation)" in last


@pytest.mark.slow
@pytest.mark.parametrize("lacking", LACKING)
def test_available_warns_and_serves(lacking: str) -> None:
    with start(lacking, "available") as process:
        assert process.stderr is not None
        log: list[str] = []
        for line in process.stderr:
            log.append(line)
            if "REST" in line:
                process.send_signal(signal.SIGTERM)

    assert process.returncode == 0
    assert any(
        f"this kernel lacks sandbox protections: {lacking}" in line and "warning" in line.lower()
        for line in log
    )


@pytest.mark.slow
def test_require_serves_where_nothing_is_missing(serve) -> None:
    server = serve(isolation="available")
    if any("lacks sandbox protections" in line for line in server.log):
        pytest.skip("this kernel lacks protections itself")

    assert serve(isolation="require").rest_port


def test_none_starts_no_worker(serve) -> None:
    assert not serve(isolation="none").workers()
