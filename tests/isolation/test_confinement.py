"""Sandbox of a worker: it can compute, and talk to its parent, and nothing else."""

from __future__ import annotations

import ast
import errno
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from onnxplain_server.adapters.sandbox import confine, landlock, seccomp

# Everything that is tried is imported first: afterwards no file can be opened.
PROLOGUE = f"""
import sys
sys.path[:0] = {[entry for entry in sys.path if entry]!r}
import ctypes, mmap, os, resource, signal, socket, subprocess, threading
from onnxplain_server.adapters.sandbox import capabilities, landlock, seccomp
from onnxplain_server.adapters.sandbox import confine
def what(function):
    try:
        return repr(function())
    except BaseException as error:
        return type(error).__name__
"""
BOTH = {"landlock", "seccomp"}
SECCOMP, LIMITS = {"seccomp"}, {"limits"}
# What is tried, and by what it is refused: one of these is enough.
ATTEMPTS: dict[str, tuple[str, set[str]]] = {
    "read a file": ("open('/etc/passwd').read()", BOTH),
    "write a file": ("open('canary', 'w')", BOTH),
    "list a folder": ("os.listdir('/')", BOTH),
    "look at a file": ("os.stat('/etc/passwd')", SECCOMP),
    "read its environment": ("open('/proc/self/environ').read()", BOTH),
    "make a link": ("os.symlink('/etc/passwd', 'canary')", BOTH),
    "connect": ("socket.create_connection(('127.0.0.1', 9), 1)", BOTH),
    "make a socket": ("socket.socket()", SECCOMP),
    "make a unix socket": ("socket.socket(socket.AF_UNIX)", SECCOMP),
    "start a program": ("subprocess.run(['/bin/true'])", BOTH),
    "fork": ("os.fork()", SECCOMP),
    "signal its parent": ("os.kill(os.getppid(), 0)", SECCOMP),
    "signal another": ("os.kill(1, 0)", SECCOMP),
    "map code": (
        "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
        SECCOMP,
    ),
    "change its user": ("os.setuid(12345)", SECCOMP),
    "lift a limit": ("resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))", SECCOMP),
    "take 4 GiB": ("len(bytearray(2**32))", LIMITS),
    "trace": ("None if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0 else 1 / 0", SECCOMP),
}
ALLOWED = {
    "take 100 MB": "len(bytearray(10**8))",
    "start a thread": "(t := threading.Thread(target=int)).start(), t.join(), 'done'",
    "ask the time": "__import__('time').monotonic() > 0",
}


_X86 = platform.machine() == "x86_64"
KILL, TKILL, TGKILL, QUEUE, QUEUE_THREAD, PIDFD_SIGNAL = (
    (62, 200, 234, 129, 297, 424) if _X86 else (129, 130, 131, 138, 240, 424)
)
SIGNALS = {
    "kill": f"{KILL}, {{pid}}, 0",
    "tkill": f"{TKILL}, {{pid}}, 0",
    "tgkill": f"{TGKILL}, {{pid}}, {{pid}}, 0",
    "rt_sigqueueinfo": f"{QUEUE}, {{pid}}, 0, 0",
    "rt_tgsigqueueinfo": f"{QUEUE_THREAD}, {{pid}}, {{pid}}, 0, 0",
    "pidfd_send_signal": f"{PIDFD_SIGNAL}, pidfd, 0, 0, 0",
}
"""System calls that signal another process, by signal 0, which only asks whether it may."""

Outcomes = Callable[..., tuple[tuple[str, ...], dict[str, str]]]


@pytest.fixture
def outcomes(tmp_path: Path) -> Outcomes:
    """Try everything in a confined process: what the kernel lacks, and a word for each."""

    def run(attempts: Mapping[str, str], before: str = ""):
        code = f"""{PROLOGUE}
{before}
missing = confine.confine(confine.Budget(2**29, 60), 2)
found = {{name: what(lambda: eval(code)) for name, code in {attempts!r}.items()}}
os.write(1, repr((missing, found)).encode())
os._exit(0)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, cwd=tmp_path
        )
        return ast.literal_eval(done.stdout.decode())

    return run


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_everything_but_computing_is_refused(outcomes: Outcomes, attempt: str) -> None:
    code, protections = ATTEMPTS[attempt]
    missing, _ = outcomes({})
    if protections <= set(missing):
        pytest.skip(f"this kernel lacks {' and '.join(sorted(protections))}")

    _, actual = outcomes({attempt: code})

    assert actual[attempt].endswith("Error")
    assert actual[attempt] not in {"FileExistsError", "ConnectionRefusedError"}


SYSTEM_CALL = """
landlock.restrict = lambda: False
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*map(ctypes.c_long, arguments))
    return result, ctypes.get_errno()
"""


@pytest.mark.parametrize("call", SIGNALS)
@pytest.mark.parametrize("target", ["its parent", "another"])
def test_no_other_process_is_signalled_without_landlock_either(
    outcomes: Outcomes, call: str, target: str
) -> None:
    """Landlock denies signals since Linux 6.12 only. All these processes have the same user."""
    if "seccomp" in outcomes({})[0]:
        pytest.skip("this kernel lacks seccomp")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as another:
        pid = os.getpid() if target == "its parent" else another.pid
        before = f"{SYSTEM_CALL}\npidfd = os.pidfd_open({pid})"
        code = f"call({SIGNALS[call].format(pid=pid)})"
        missing, actual = outcomes({"signal": code}, before=before)
        _, free = outcomes({"signal": code}, before=f"{before}\nseccomp.restrict = lambda: False")
        another.communicate(b"\n")

    assert "landlock" in missing
    assert actual["signal"] == f"(-1, {errno.EPERM})"
    assert free["signal"] in {"(0, 0)", f"(-1, {errno.EFAULT})"}  # what the filter stands between


def test_a_thread_of_its_own_may_be_signalled(outcomes: Outcomes) -> None:
    """By a call whose first argument has 64 bits, of which the kernel takes 32."""
    own = f"call({TGKILL}, os.getpid(), threading.get_native_id(), 0)"
    high = f"call({TGKILL}, os.getpid() + 2**32, threading.get_native_id(), 0)"

    actual = outcomes({"own": own, "high": high}, before=SYSTEM_CALL)[1]

    assert actual == {"own": "(0, 0)", "high": "(0, 0)"}


def test_abort_still_ends_it() -> None:
    code = f"{PROLOGUE}\nconfine.confine(confine.Budget(2**29, 60), 2)\nos.abort()"

    done = subprocess.run([sys.executable, "-c", code], check=False)

    assert done.returncode == -signal.SIGABRT


def test_computing_is_not(outcomes: Outcomes) -> None:
    assert outcomes(ALLOWED)[1] == {
        "take 100 MB": "100000000",
        "start a thread": "(None, None, 'done')",
        "ask the time": "True",
    }


@pytest.mark.parametrize("gone", ["landlock", "seccomp", "capabilities"])
def test_what_the_kernel_lacks_is_told_and_the_rest_still_protects(
    outcomes: Outcomes, gone: str
) -> None:
    lacking, _ = outcomes({})
    tried = ("read a file", "make a link", "take 4 GiB")
    stored = {name: ATTEMPTS[name] for name in tried if ATTEMPTS[name][1] - {gone, *lacking}}
    missing, actual = outcomes(
        {name: code for name, (code, _) in stored.items()},
        before=f"{gone}.{'drop' if gone == 'capabilities' else 'restrict'} = lambda: False",
    )

    assert set(missing) == {gone, *lacking}
    assert set(actual.values()) <= {"PermissionError", "MemoryError"}


BROKEN = {
    "landlock": "landlock._NETWORK[4] = 0",
    "seccomp": "seccomp._program = lambda *_, **__: [seccomp._instruction(6, 0x7FFF0000)]",
    "capabilities": "capabilities._header = lambda: bytes(8)",
}
"""What makes a protection hold nothing, though the kernel takes it."""


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_accepted_but_not_held_is_told(outcomes: Outcomes, broken: str) -> None:
    lacking, _ = outcomes({})
    missing, _ = outcomes({}, before=BROKEN[broken])

    assert set(missing) == {broken, *lacking}


def test_limits_are_on_top_of_what_is_mapped_already(outcomes: Outcomes) -> None:
    read = {"limit": "resource.getrlimit(resource.RLIMIT_AS)[0]"}
    _, actual = outcomes(read, before="seccomp.restrict = lambda: False")

    assert 2**29 < int(actual["limit"]) < 2**29 + 2**31


def test_an_unknown_machine_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")

    assert not seccomp.restrict()


@pytest.mark.parametrize("version", range(1, 8))
def test_each_version_of_landlock_is_asked_for_what_it_knows(version: int) -> None:
    attributes = landlock._attributes(version)

    assert len(attributes) == (8 if version < 4 else 16 if version < 6 else 24)
    assert attributes[:2] == {1: b"\xff\x1f", 2: b"\xff\x3f"}.get(
        version, b"\xff\x7f" if version < 5 else b"\xff\xff"
    )


def test_variables_of_the_server_stay_with_it(isolated) -> None:
    zygote = isolated._pool._zygote

    environment = Path(f"/proc/{zygote._process.pid}/environ").read_bytes()

    assert b"OPENBLAS_NUM_THREADS=1" in environment
    assert b"known to the server alone" not in environment


def test_a_process_whose_parent_has_gone_ends() -> None:
    code = f"{PROLOGUE}\nconfine.die_with_parent(1 if os.getppid() != 1 else 2)\nos.write(1, b'on')"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=600, check=True
    )

    assert done.stdout == b""
    assert confine.mapped_bytes() > 0
