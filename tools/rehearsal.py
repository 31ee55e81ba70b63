"""Runs the build stage of the Dockerfile in a folder, and serves from what it installed.

Usage: python tools/rehearsal.py FOLDER

Nothing of Docker is needed, so it tells before an image is built whether the locks are complete
and the packages whole. It knows FROM, RUN, ARG, ENV and COPY as far as the Dockerfile uses them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = re.compile(r"(?<![\w.])/(?=opt|src|wheels)")


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of the first stage, continued lines joined."""
    text = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ")
    stage = re.split(r"^FROM .*\n", text, flags=re.MULTILINE)[1]
    for line in stage.splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest


def copy(arguments: str) -> None:
    """Copy files or folders into a folder, or one folder to its new name."""
    *sources, target = arguments.split()
    for source in sources:
        found = ROOT / source
        if found.is_dir():
            shutil.copytree(found, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            Path(target).mkdir(parents=True, exist_ok=True)
            shutil.copy(found, target)


def build(folder: Path) -> None:
    """Run the stage, its absolute places moved into the folder."""
    environment = dict(os.environ)
    for word, rest in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        moved = PLACES.sub(f"{folder}/", rest)
        if word == "RUN":
            run(["/bin/sh", "-exc", moved], environment)
        elif word == "COPY":
            copy(moved)
        elif word == "ARG":
            name, given, value = moved.partition("=")
            if given:
                environment.setdefault(name, value)
        else:
            environment |= dict(pair.partition("=")[::2] for pair in moved.split())


def serve(folder: Path) -> None:
    """Start the installed service, and ask it whether it serves."""
    command = str(folder / "opt/onnxplain/bin/onnxplain")
    ports = ["--rest-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
    with subprocess.Popen(  # noqa: S603 - what was just installed
        [command, "serve", *ports], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            line = next(line for line in server.stderr or () if "gRPC on " in line)
            endpoint = line.rpartition("gRPC on ")[2].strip()
            run([command, "health", "--endpoint", endpoint], dict(os.environ))
        finally:
            server.terminate()


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run a command; end where it fails."""
    subprocess.run(command, check=True, env=environment)  # noqa: S603 - the Dockerfile's own


def main(folder: Path) -> None:
    """Build anew and serve."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build(folder.resolve())
    serve(folder.resolve())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
