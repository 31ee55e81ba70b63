"""Tries the wheel for all systems in gVisor, whose kernel has neither Landlock nor pidfd_open.

Usage, as root: python -m tools.systems.gvisor WHEELS
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.systems import installation, pythons

_PROGRAM = Path(__file__).parents[2] / "tests/other_systems/jobs.py"
_JOBS = ("overview", "interactions", "plot", "local", "ui", "serve")


def main() -> None:
    """Install into an empty environment, and do jobs on gVisor's kernel, without network."""
    wheels = Path(sys.argv[1]).resolve()
    (server,) = wheels.glob("onnxplain_server-*-none-any.whl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = installation.install(pythons.newest(), wheels, server, folder)
        sandbox = ["runsc", "--network=none", "--ignore-cgroups", "do"]
        python = environment / "bin/python"
        done = subprocess.run(  # noqa: S603 - our own program
            [*sandbox, python, _PROGRAM, "here", folder, *_JOBS], check=False
        )
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
