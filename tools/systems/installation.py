"""Installs wheels into empty environments, without a compiler, and explains without network.

Usage: python -m tools.systems.installation WHEELS [VERSION ...]

WHEELS is a folder of `make dist`. Each version of Python, by default all that are tried and the
system's own, gets an environment of its own, and runs `onnxplain demo` twice. The figures go into
docs/systems.md.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import figures
from tools.systems import pythons
from tools.systems.page import write_table

COLUMNS = ("Python", "wheel", "MB", "first `onnxplain demo`", "later ones")
ROOMS = ("cli", "explain", "trees")


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A run of `onnxplain demo`.

    Attributes
    ----------
    seconds : float
        Of processor time.
    errors : str
        What it wrote to standard error.
    """

    seconds: float
    errors: str


def install(python: Path, wheels: Path, server: Path, folder: Path) -> Path:
    """Install the client and this wheel of the server into an empty environment; return it."""
    environment = folder / "env"
    subprocess.run([python, "-m", "venv", environment], check=True)  # noqa: S603 - a Python
    (client,) = wheels.glob("onnxplain-*.whl")
    command: list[str | Path] = [
        environment / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary=:all:",
    ]
    command += [client, f"{server}[render]"]
    subprocess.run(command, check=True, env=_alone(environment))  # noqa: S603 - as above
    return environment


def demonstrate(environment: Path, folder: Path) -> Demonstration:
    """Run `onnxplain demo` without network, and check that it wrote a report.

    Raises
    ------
    RuntimeError
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(  # noqa: S603 - our own program
        [*_without_network(), environment / "bin/onnxplain", "demo", "--folder", folder],
        env=_alone(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = folder / "report.html"
    if done.returncode or not report.read_text(encoding="utf-8").lower().startswith("<!doctype"):
        raise RuntimeError(f"no report: {done.stdout[-2_000:]}{done.stderr[-2_000:]}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Demonstration(seconds, done.stderr)


def _without_network() -> list[str]:
    unshare = shutil.which("unshare")
    if unshare is None:
        raise RuntimeError("unshare not found: it takes the network away, on Linux")
    return [unshare, "--net", *(["--map-root-user"] if os.geteuid() else [])]


def _alone(environment: Path) -> dict[str, str]:
    """Return the variables of a process that finds no program but those of the environment."""
    kept = {"HOME", "LANG", "TMPDIR"} | {name for name in os.environ if name.startswith("PIP_")}
    return {key: os.environ[key] for key in kept & os.environ.keys()} | {
        "PATH": str(environment / "bin")
    }


def _row(name: str, python: Path, wheels: Path, server: Path) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = install(python, wheels, server, folder)
        megabytes = sum(each.lstat().st_size for each in environment.rglob("*")) / 1e6
        first, later = (demonstrate(environment, folder / "demo") for _ in range(2))
    kind = "all systems" if server.name.endswith("none-any.whl") else "compiled loops"
    return (name, kind, f"{megabytes:,.0f}", f"{first.seconds:.0f} s", f"{later.seconds:.0f} s")


def _servers(wheels: Path, minor: str) -> list[Path]:
    """Return the wheels of the server for this version, that for all systems first."""
    tag = f"cp{minor.replace('.', '')}"
    return [*wheels.glob("onnxplain_server-*-none-any.whl"), *wheels.glob(f"*-{tag}-{tag}-*.whl")]


def _tried(named: Sequence[str]) -> Iterator[tuple[str, str, Path | None]]:
    """Yield name, version and path of each Python; also the system's own where none is named."""
    for minor in named or pythons.MINORS:
        yield minor, minor, pythons.find(minor) or pythons.fetch(minor)
    own = None if named else pythons.of_system()
    if own is not None:
        minor, python = own
        yield f"{minor}, of the system", minor, python


def main() -> None:
    """Install and explain with each version, and write the table."""
    wheels, *named = sys.argv[1:]
    rows: list[tuple[str, ...]] = []
    for name, minor, python in _tried(named):
        if python is None:
            rows.append((name, "not found", "", "", ""))
            continue
        for server in _servers(Path(wheels).resolve(), minor):
            rows.append(_row(name, python, Path(wheels).resolve(), server))
            sys.stdout.write(f"{' · '.join(rows[-1])}\n")
            sys.stdout.flush()
    write_table("installation", COLUMNS, rows, figures.stamp(ROOMS))


if __name__ == "__main__":
    main()
