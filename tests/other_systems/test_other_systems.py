"""The package on macOS and Windows, as far as Linux can stand in: without what they lack."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from onnxplain.v1.explanation_service_pb2 import MethodOptions

from tests.other_systems.jobs import JOBS, METHODS

SYSTEMS = ("darwin", "win32")


@pytest.fixture(scope="module", params=SYSTEMS)
def faults(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str]:
    """How each job failed, all in one process without what the system lacks."""
    folder = tmp_path_factory.mktemp(request.param)
    jobs = Path(__file__).with_name("jobs.py")
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", jobs, request.param, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: Mapping[str, str] = json.loads((folder / "faults.json").read_text(encoding="utf-8"))
    return found


def test_each_method_is_a_job() -> None:
    assert METHODS.keys() == {field.name for field in MethodOptions.DESCRIPTOR.fields}


@pytest.mark.parametrize("job", JOBS)
def test_it_works_without_what_the_system_lacks(faults: Mapping[str, str], job: str) -> None:
    assert faults[job] == ""
