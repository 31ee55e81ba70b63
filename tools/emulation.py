"""Emulation of another processor by qemu, which the kernel starts for its programs (binfmt_misc).

Usage: python -m tools.emulation ARCH

ARCH is Debian's name, like arm64. Does nothing on a machine of that kind; needs root otherwise.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

from tools import programs

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Linux's names of processors by Debian's."""

_REGISTERED = Path("/proc/sys/fs/binfmt_misc")


def main() -> None:
    """Let the kernel run programs for a processor."""
    machine = MACHINES[sys.argv[1]]
    emulator = f"qemu-{machine}"
    if machine == platform.machine() or (_REGISTERED / emulator).exists():
        return
    programs.install([f"{emulator}-static"])
    if programs.missing([f"{emulator}-static"]):
        raise SystemExit(f"{emulator}-static not found: {programs.advice(f'{emulator}-static')}")
    # Until the machine restarts. Debian registers the emulator as an open file, so chroots have it.
    registrar = programs.find("update-binfmts") or "update-binfmts"
    subprocess.run([registrar, "--enable", emulator], check=True)  # noqa: S603 - our own words


if __name__ == "__main__":
    main()
