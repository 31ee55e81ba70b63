"""The Python client, curl and the command line get the same right answers and reasons."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from harness import (
    CASES,
    COMMAND_LINE,
    CURL,
    PYTHON,
    Runner,
    Server,
    ask,
    disagreement,
    fault,
    serving,
)
from onnxplain.v1.explanation_service_pb2 import MethodOptions

RUNNERS = (PYTHON, CURL, COMMAND_LINE)
FEW = ("interactions", "swarm", "table-parquet", "predict-codes", "error-unknown-feature")
"""Cases of the command line that every change needs."""

Answers = Callable[[Runner, str], Mapping[str, Any]]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def answers(
    server: Server, tmp_path_factory: pytest.TempPathFactory, program: Callable[[str], str]
) -> Answers:
    """Ask a case by a runner, once; a runner that is quick to answer is asked all cases at once."""

    @cache
    def all_of(runner: Runner) -> dict[str, Any]:
        if runner is CURL:
            program("curl")
        return ask(runner, server, tmp_path_factory.mktemp("answers"), [*CASES])

    @cache
    def of(runner: Runner, name: str) -> Mapping[str, Any]:
        if runner is COMMAND_LINE:
            found = ask(runner, server, tmp_path_factory.mktemp("answer"), [name])
        else:
            found = all_of(runner)
        answer: Mapping[str, Any] = found[name]
        return answer

    return of


def by_name(runner: Runner):
    """Mark a runner's cases: the command line starts a process for each."""
    marks = [pytest.mark.slow] if runner is COMMAND_LINE else []
    return pytest.param(runner, id=runner.name, marks=marks)


@pytest.mark.parametrize("runner", [by_name(runner) for runner in RUNNERS])
@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_as_expected(answers: Answers, runner: Runner, name: str) -> None:
    found = answers(runner, name)

    assert ("unsupported" in found) == (name in runner.lacks)
    if name not in runner.lacks:
        assert fault(found, CASES[name]) is None


@pytest.mark.parametrize("name", FEW)
def test_the_command_line_answers_as_expected(answers: Answers, name: str) -> None:
    assert fault(answers(COMMAND_LINE, name), CASES[name]) is None


@pytest.mark.parametrize("runners", [RUNNERS[:2], pytest.param(RUNNERS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("error-")])
def test_every_surface_gives_the_same_bytes(
    answers: Answers, runners: Sequence[Runner], name: str
) -> None:
    first, *others = (answers(each, name) for each in runners if name not in each.lacks)

    assert [disagreement(name, CASES[name], first, other) for other in others] == [None] * len(
        others
    )


@pytest.mark.parametrize("runner", [PYTHON, CURL], ids=lambda runner: runner.name)
def test_progress_rises_to_what_is_planned(answers: Answers, runner: Runner) -> None:
    progress = answers(runner, "stream")["progress"]

    done = [each[0] for each in progress]
    assert done == sorted(done)
    assert all(each[0] <= each[1] for each in progress)
    assert progress


def test_no_method_is_left_out() -> None:
    asked = {
        next(iter(method))
        for case in CASES.values()
        for method in case.get("request", {}).get("methods", [])
        if "response" in case["expected"]
    }

    assert asked == {field.json_name for field in MethodOptions.DESCRIPTOR.fields}


def test_who_leaves_frees_the_server(server: Server, tmp_path: Path) -> None:
    """The case ends with the caller's leaving; then there is nothing left to compute."""
    ask(PYTHON, server, tmp_path, ["error-cancelled"])
    answer = ask(PYTHON, server, tmp_path, ["interactions"])

    assert "response" in answer["interactions"]
    assert _running(server) == 0


def _running(server: Server) -> float:
    url = f"http://127.0.0.1:{server.metrics_port}/metrics"
    with urllib.request.urlopen(url) as page:
        lines = page.read().decode().splitlines()
    return next(
        float(line.split()[1]) for line in lines if line.startswith("onnxplain_running_requests ")
    )
