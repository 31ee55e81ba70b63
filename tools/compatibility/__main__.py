"""Runs onnxplain in each environment of `cases.py`, and writes docs/compatibility.md.

Usage: python -m tools.compatibility [CASE ...]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.compatibility.cases import CASES, SHOWN, TEST_PACKAGES, TESTS, Case
from tools.systems import pythons

ROOT = Path(__file__).parents[2]
RESULT = Path(__file__).with_name("result.json")
PAGE = ROOT / "docs/compatibility.md"
PYTHON_MISSING = "Python not found"

HEAD = """# Compatibility

<!-- Written by `make compatibility`. -->

Each row is an environment of its own. There all methods are asked over gRPC, REST and the command
line of a real server (`tests/conformance`), and the answers compared with kept ones. "Lowest" is
the lowest version that the packages allow; what is not named is the newest.

For arm64, the image is built and run by emulation (qemu), with the locked versions. It explains the
model of `examples/miami` by trees, and no number may differ by more than 1e-9 from an answer of the
checkout on this machine (`make test-arm64`). The sandbox of a server is not tried there, since
the emulation does not offer it.

"""


def main() -> None:
    """Run the named cases, or all, and write what is known of all."""
    named = sys.argv[1:] or [case.name for case in CASES]
    if unknown := set(named) - {case.name for case in CASES}:
        raise SystemExit(f"no such cases: {', '.join(sorted(unknown))}")
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for case in CASES:
        if case.name in named:
            known[case.name] = run(case)
            sys.stdout.write(f"{case.name}: {known[case.name]['outcome']}\n")
            sys.stdout.flush()
    kept = {case.name: known[case.name] for case in CASES if case.name in known}
    RESULT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")
    if any(kept[name]["failed"] for name in named):
        sys.exit(1)


def run(case: Case) -> dict[str, object]:
    """Return versions and outcome of one case; a Python that is not here is no failure."""
    if case.image:
        return _run_image(case)
    python = pythons.find(case.python)
    if python is None:
        return {"versions": {}, "outcome": PYTHON_MISSING, "failed": False}
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder)
        _install(case, python, environment)
        versions = _versions(environment)
        done = subprocess.run(  # noqa: S603 - our own tests
            [environment / "bin/python", "-m", "pytest", "-q", *TESTS],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            env={key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
        )
    return {"versions": versions, **_outcome(done)}


def _run_image(case: Case) -> dict[str, object]:
    """Return versions, by the image's list of its parts, and outcome of an image's test."""
    if os.geteuid():
        return {"versions": {}, "outcome": "needs root", "failed": False}
    done = subprocess.run(  # noqa: S603 - our own target
        ["make", f"test-{case.image}"],  # noqa: S607 - as everybody calls it
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    parts = ROOT / f"build/image-{case.image}/sbom.cdx.json"
    versions = {"Processor": case.image, "Python": case.python}
    if parts.exists():
        components = json.loads(parts.read_text(encoding="utf-8"))["components"]
        versions |= {each["name"]: each["version"] for each in components if each["name"] in SHOWN}
    return {"versions": versions, **_outcome(done)}


def _outcome(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """Return what the last line of a run of pytest tells, without the time."""
    summary = (done.stdout.strip().splitlines() or [done.stderr])[-1]
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
    outcome = re.sub(r" in [\d.:]+s.*| \(.*\)", "", summary)
    return {"outcome": outcome, "failed": done.returncode != 0}


def _install(case: Case, python: Path, environment: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", python, environment], check=True)  # noqa: S603 - our own environment
    # Both packages as a user installs them, but from the checkout, with loops compiled by numba.
    packages = ["-e", "clients/python", "-e", ".[jit]"]
    install: list[str | Path] = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--no-sources",
        "--python",
        environment / "bin/python",
    ]
    subprocess.run(  # noqa: S603 - locked by nothing: that is what is tried
        [*install, "--resolution", case.resolution, *packages, *case.demands], cwd=ROOT, check=True
    )
    subprocess.run([*install, *TEST_PACKAGES], cwd=ROOT, check=True)  # noqa: S603 - as above


def _versions(environment: Path) -> Mapping[str, str]:
    program = (
        "import json, platform; from importlib.metadata import version;"
        "print(json.dumps({'Processor': platform.machine(), 'Python': platform.python_version()}"
        f" | {{name: version(name) for name in {SHOWN}}}))"
    )
    printed = subprocess.check_output([environment / "bin/python", "-c", program], text=True)  # noqa: S603 - our own words
    found: dict[str, str] = json.loads(printed)
    return found


def page(known: Mapping[str, Mapping[str, object]]) -> str:
    """Return the page: a row for each case."""
    columns = ("Processor", "Python", *SHOWN)
    lines = [
        f"| Environment | {' | '.join(columns)} | Tests |",
        f"| --- |{' --- |' * (len(columns) + 1)}",
    ]
    for name, each in known.items():
        versions = each["versions"]
        assert isinstance(versions, Mapping)  # noqa: S101 - as written above
        cells = [str(versions.get(column, "–")) for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} | {each['outcome']} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
