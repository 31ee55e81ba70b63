"""The package on macOS, Windows and a Linux without protections, as far as Linux can stand in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain_server.cli.commands import SUMMARIES

from tests.other_systems import jobs
from tests.other_systems.jobs import JOBS, METHODS, jobs_of

OPERATIONS = ("start", "wait", "operations")
"""Commands that ask a server with Redis; beside `explainer`, which serves."""

CASES = [
    pytest.param(system, job, marks=() if system == "win32" else pytest.mark.slow)
    for system in ("darwin", "win32", "linux")
    for job in jobs_of(system)
]
"""Windows lacks most; the others are slow tests."""


@pytest.fixture(scope="module")
def faults_on(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Mapping[str, str]]:
    """How each job failed, by the system: all in one process without what the system lacks."""

    @cache
    def run(system: str) -> Mapping[str, str]:
        folder = tmp_path_factory.mktemp(system)
        jobs = Path(__file__).with_name("jobs.py")
        done = subprocess.run(
            [sys.executable, "-X", "warn_default_encoding", jobs, system, folder],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        found: Mapping[str, str] = json.loads((folder / "faults.json").read_text(encoding="utf-8"))
        return found

    return run


def test_each_method_is_a_job() -> None:
    assert set(METHODS) == {field.name for field in MethodOptions.DESCRIPTOR.fields}
    assert set(METHODS) <= JOBS.keys()


def test_each_command_is_called_by_a_job() -> None:
    source = Path(jobs.__file__).read_text(encoding="utf-8")
    called = set(re.findall(r'(?:run\(|return |asked = \()"([a-z]+)"', source))

    assert SUMMARIES.keys() - called == {"explainer", *OPERATIONS}


@pytest.mark.parametrize(("system", "job"), CASES)
def test_it_works_without_what_the_system_lacks(
    faults_on: Callable[[str], Mapping[str, str]], system: str, job: str
) -> None:
    assert faults_on(system)[job] == ""


LACKING = """
from onnxplain_server.core.systems.confinement import lacking
print(*lacking(), sep=", ")
"""


@pytest.mark.parametrize(
    ("forbidden", "lacks"),
    [
        ("memfd_create", "memfd_create"),
        ("pidfd_open", "pidfd_open"),
        ("landlock", ""),
        ("seccomp", ""),
        ("landlock,seccomp", "seccomp or Landlock"),
    ],
)
def test_one_of_landlock_and_seccomp_is_enough_to_confine(forbidden: str, lacks: str) -> None:
    program = Path(__file__).with_name("call_filter.py")
    found = subprocess.check_output(
        [sys.executable, program, forbidden, sys.executable, "-c", LACKING], text=True
    )
    assert found.strip() == lacks
