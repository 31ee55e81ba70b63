"""Launcher of a container's process, in a mount namespace of its own.

It mounts the pod's files and its table of host names, and becomes the process.

Usage: unshare --mount python -m tools.cluster.launcher SPECIFICATION.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Mount, then become the process."""
    specification = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for source, target in specification["mounts"].items():
        Path(target).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", source, target], check=True)
    subprocess.run(["mount", "--bind", specification["hosts"], "/etc/hosts"], check=True)
    os.execvpe(specification["command"][0], specification["command"], specification["variables"])  # noqa: S606


if __name__ == "__main__":
    main()
