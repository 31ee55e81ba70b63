"""Seccomp filter: an allowlist of system calls, some by their arguments; see `calls`.

All others fail with EPERM instead of a kill, so that libraries can fall back. pyseccomp needs
libseccomp on the machine, and had its last version in 2021.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Sequence

from onnxplain_server.adapters.sandbox import calls
from onnxplain_server.adapters.sandbox.calls import Check, CheckedCall

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_CLONE3 = 435

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _AND, _EQUAL, _JUMP, _RETURN = 0x20, 0x54, 0x15, 0x05, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # offsets in the data of a call; an argument has 8 bytes
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_REFUSE = _FAIL | errno.EPERM
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

_MSG_FASTOPEN = 0x20000000
_TRIALS: dict[str, tuple[tuple[int, int], tuple[int, ...]]] = {
    # name: (x86-64, arm64), arguments. Without a filter, none of them fails with EPERM.
    "getppid": ((110, 173), ()),
    "mprotect": ((10, 226), (0, 0, 0x4)),
    "sendmsg": ((46, 211), (-1, 0, _MSG_FASTOPEN)),
}
"""Calls without an effect that the filter forbids, by number or by an argument."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def restrict(*, has_network: bool = False) -> bool:
    """Restrict this process to the listed calls, irrevocably; a fork of it could not signal itself.

    Parameters
    ----------
    has_network : bool
        Whether it connects to others.

    Returns
    -------
    bool
        False on machines other than x86-64 and arm64, or if the kernel lets forbidden calls pass.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    code = b"".join(_program(*machine, has_network=has_network))
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        return False
    return all(
        _is_refused(libc, numbers[machine[0]], arguments) for numbers, arguments in _TRIALS.values()
    )


def _is_refused(libc: ctypes.CDLL, number: int, arguments: Sequence[int]) -> bool:
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return bool(result == -1 and ctypes.get_errno() == errno.EPERM)


def _program(column: int, machine: int, *, has_network: bool) -> list[bytes]:
    """Return the instructions of the BPF filter."""
    rules = [*calls.common_rules(column), *(calls.network_rules(column) if has_network else ())]
    code = [
        _instruction(_LOAD, _MACHINE),
        _instruction(_EQUAL, machine, 1, 0),
        _instruction(_RETURN, _REFUSE),
        _instruction(_LOAD, _NUMBER),
    ]
    for rule in rules:
        code += _ruled(rule)
    for number in calls.numbers(column, has_network=has_network):
        code += [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _ALLOW)]
    # Libraries then fall back to clone, whose flags the filter can check.
    code += [_instruction(_EQUAL, _CLONE3, 0, 1), _instruction(_RETURN, _FAIL | errno.ENOSYS)]
    return [*code, _instruction(_RETURN, _REFUSE)]


def _ruled(rule: CheckedCall) -> list[bytes]:
    """Return the instructions that decide on one call by its arguments."""
    body = [step for checks in rule.alternatives for step in _alternative(checks)]
    body.append(_instruction(_RETURN, _REFUSE))
    return [_instruction(_EQUAL, rule.number, 0, len(body)), *body]


def _alternative(checks: Sequence[Check]) -> list[bytes]:
    """Return the instructions that allow a call if all checks hold; else they lead behind."""
    code = [_instruction(_RETURN, _ALLOW)]
    for check in reversed(checks):
        count = len(check.values)
        code = [
            _instruction(_LOAD, _ARGUMENTS + 8 * check.argument),
            _instruction(_AND, check.mask),
            *(_instruction(_EQUAL, value, count - at) for at, value in enumerate(check.values)),
            _instruction(_JUMP, len(code)),
            *code,
        ]
    return code


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
