"""Programs that tests run, and the Debian packages that hold them, or the targets that build them.

Usage: python tools/programs.py install|check NAME ...

`install` installs the missing ones where that is possible (as root, with apt-get) and prints the
command for the others; it always succeeds. `check` fails where one is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[1]

PACKAGES = {
    "Rscript": "r-base-core r-cran-ranger r-cran-gbm r-cran-randomforest r-cran-caret",
    "buildah": "buildah",
    "chromium": "chromium",
    "curl": "curl",
    "debootstrap": "debootstrap",
    "docker-registry": "docker-registry",
    "firefox-esr": "firefox-esr",
    "gcc": "gcc libc6-dev",
    "gpg": "gnupg",
    "go": "golang-go",
    "haproxy": "haproxy",
    "iptables": "iptables",
    "javac": "openjdk-17-jdk-headless",
    "mvn": "maven",
    "pdftotext": "poppler-utils",
    "promtool": "prometheus",
    "qemu-aarch64-static": "qemu-user-static binfmt-support",
    "redis-server": "redis-server",
    "runsc": "runsc",
    "skopeo": "skopeo",
}
"""Debian packages by program."""

BUILT = {
    "fake-gcs-server": ("tools/stores/bin/fake-gcs-server", "make stores"),
    "kserve": (".venv-kserve/bin/python", "make model-servers"),
    "mlflow": (".venv-mlflow/bin/mlflow", "make stores"),
    "mlserver": (".venv-mlserver/bin/python", "make model-servers"),
    "rclone": ("tools/stores/bin/rclone", "make stores"),
    "triton": (".venv-triton/bin/python", "make model-servers"),
}
"""Path in the checkout and command that makes it, by program that no package of Debian holds."""

_SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Folders of servers, which are not in the PATH of ordinary users."""


def find(program: str) -> str | None:
    """Return the path of a program; None where it is not installed."""
    if program in BUILT:
        path = _ROOT / BUILT[program][0]
        return str(path) if path.exists() else None
    return shutil.which(program, path=os.pathsep.join((os.environ["PATH"], *_SYSTEM_FOLDERS)))


def missing(programs: Sequence[str]) -> list[str]:
    """Return those programs that are not installed."""
    return [program for program in programs if find(program) is None]


def advice(program: str) -> str:
    """Return the command that installs a program, as root, or builds it."""
    if program in BUILT:
        return BUILT[program][1]
    return f"apt-get install {PACKAGES[program]}"


def install(programs: Sequence[str]) -> None:
    """Install missing programs where this user may; never fails."""
    absent = [program for program in missing(programs) if program in PACKAGES]
    if not absent or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    packages = " ".join(PACKAGES[program] for program in absent).split()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    options = ["--quiet=2", "--yes", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0"]
    for command in (["update", "--quiet=2"], ["install", *options, *packages]):
        subprocess.run(  # noqa: S603 - packages of the table above
            ["apt-get", *command],  # noqa: S607 - apt-get is where the PATH of root says
            env=environment,
            stdout=subprocess.DEVNULL,
            check=False,
        )


def main() -> None:
    """Run the command line."""
    command, *programs = sys.argv[1:]
    if command == "install":
        install(programs)
    absent = missing(programs)
    for program in absent:
        sys.stderr.write(f"{program} not found: {advice(program)}\n")
    if absent and command == "check":
        sys.exit(1)


if __name__ == "__main__":
    main()
