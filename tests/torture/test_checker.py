"""The judge: each rule is broken by what breaks it, and by nothing else."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from rig import answers, checker, history
from rig.checker import History, check
from rig.history import Call, Fault, Probe, Sample, Writer
from rig.run import Run

ANSWER = {"explanations": [{"values": [1.0, 2.5]}], "receipt": {"seed": 3}}
CASE = "00-a_model-interactions-0"


class Past:
    """A run's folder, which tests fill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "answers").mkdir()
        asked = Run(seconds=600, seed=0, clients=1, start=0.0, end=600.0, exit_codes=(0, 0))
        (folder / "run.json").write_text(json.dumps(asdict(asked)))
        (folder / "reference.jsonl").write_text(json.dumps([CASE, ANSWER]) + "\n")

    def write(self, file: str, *lines) -> None:
        """Append lines to one of its files."""
        writer = Writer(self.folder / file)
        for line in lines:
            writer.write(line)
        writer.close()

    def call(self, **given) -> None:
        """Append a call that was to be answered within a minute, and failed unless told."""
        usual: dict[str, Any] = {
            "surface": "grpc", "manner": "whole", "case": CASE, "start": 100.0, "end": 101.0,
            "outcome": "error", "origin": "server", "seconds": 60.0,
        }  # fmt: skip
        self.write("calls-00.jsonl", Call(**(usual | given)))

    def answer(self, document: dict[str, Any], **given) -> None:
        """Append a call with its answer."""
        name = answers.digest(document)
        history.keep(self.folder, name, answers.text(document))
        self.call(outcome="answer", digest=name, **given)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


@pytest.fixture
def right() -> dict[str, Any]:
    """The right answer to the one question of these runs."""
    return json.loads(json.dumps(ANSWER))  # type: ignore[no-any-return] # a copy of a dict


def broken(past: Past) -> set[str]:
    """Name the rules that a run broke."""
    return {verdict.rule for verdict in check(History(past.folder)) if not verdict.holds}


def test_a_run_in_which_all_is_right_breaks_nothing(past: Past, right: dict[str, Any]) -> None:
    past.answer(right)
    past.write("probes.jsonl", Probe("A", 100.0, "/readyz", 200, 0.01))

    assert broken(past) == set()


@pytest.mark.parametrize("factor", [1 + 1e-8, 2.0, -1.0, float("nan")])
def test_a_wrong_number_is_found(past: Past, right: dict[str, Any], factor: float) -> None:
    past.answer(right)
    wrong = copy.deepcopy(right)
    wrong["explanations"][0]["values"][1] *= factor
    past.answer(wrong)

    assert broken(past) == {"No answer is wrong"}


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer["receipt"].update(seed=4),
        lambda answer: answer["explanations"][0]["values"].append(1.0),
        lambda answer: answer["explanations"][0]["values"].reverse(),
        lambda answer: answer["explanations"].clear(),
        lambda answer: answer.pop("receipt"),
        lambda answer: answer.update(warnings=[]),
    ],
)
def test_any_other_difference_is_found(past: Past, right: dict[str, Any], change) -> None:
    change(right)
    past.answer(right)

    assert "No answer is wrong" in broken(past)


def test_the_last_digits_and_the_receipt_s_counts_may_differ(
    past: Past, right: dict[str, Any]
) -> None:
    right["explanations"][0]["values"][1] *= 1 + 1e-14
    right["receipt"] |= {"elapsed": "1s", "cacheHitCount": 4, "predictedRowCount": 9.0}
    past.answer(right)

    assert broken(past) == set()


def test_an_answer_to_a_question_without_a_right_answer_is_wrong(
    past: Past, right: dict[str, Any]
) -> None:
    past.answer(right, case="another")

    assert broken(past) == {"No answer is wrong"}


def test_an_error_without_a_fault_is_a_loss_and_has_no_cause(past: Past) -> None:
    past.call(reason="WORKER_DIED", message="the worker died")

    assert broken(past) == {"Nothing is lost with one retry", "Every error has a cause"}


END = "ended SUCCEEDED 2026-01-01T00:00:00Z 2 abc"


def test_an_operation_that_ends_once_breaks_nothing(past: Past, right: dict[str, Any]) -> None:
    past.answer(right, manner="operation", looks=["started o/1", "started o/1", END, END])
    past.call(manner="operation", outcome="left")

    assert broken(past) == set()


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([END, END.replace(" 2 ", " 3 ")], id="another attempt"),
        pytest.param([END, END.replace("abc", "abd")], id="another answer"),
        pytest.param([END, END.replace("SUCCEEDED", "CANCELLED")], id="another state"),
        pytest.param(["started o/1", "started o/2", END], id="two operations of one start"),
        pytest.param([], id="no end"),
    ],
)
def test_an_operation_with_two_ends_or_none_is_found(
    past: Past, right: dict[str, Any], looks: list[str]
) -> None:
    past.answer(right, manner="operation", looks=looks)

    assert broken(past) == {"Each operation ends once"}


def test_an_operation_without_end_is_found(past: Past) -> None:
    past.call(manner="operation", reason="OPERATION_NOT_DONE", message="RUNNING", origin="way")

    assert broken(past) == {"Each operation ends once", "Every error has a cause"}


def test_an_operation_is_gone_where_redis_forgot_it_only(past: Past) -> None:
    past.write("faults.jsonl", Fault("redis-flush", "redis", 100.5, 100.5, 100.6))
    given = {"manner": "operation", "reason": "OPERATION_NOT_FOUND", "message": "no such one"}
    past.call(**given)
    assert broken(past) == set()

    past.call(start=300.0, end=301.0, **given)
    assert broken(past) == {"Every error has a cause"}


def test_an_operation_whose_answer_has_no_room_fails_in_a_full_redis_only(past: Past) -> None:
    past.write("faults.jsonl", Fault("redis-fill", "redis", 100.5, 100.5, 100.6))
    given = {"manner": "operation", "reason": "QUOTA_EXCEEDED", "message": "no memory"}
    past.call(**given)
    assert broken(past) == set()

    past.call(start=300.0, end=301.0, **given)
    assert broken(past) == {"Every error has a cause"}


def test_the_answer_of_an_operation_is_that_of_explain(past: Past, right: dict[str, Any]) -> None:
    right["explanations"][0]["values"][1] *= 2
    past.answer(right, manner="operation", looks=[END])

    assert broken(past) == {"No answer is wrong"}


def test_a_fault_explains_only_its_own_errors(past: Past) -> None:
    past.write("faults.jsonl", Fault("worker-kill", "A", 100.5, 100.5, 100.6))
    past.call(manner="hurried", reason="WORKER_DIED", message="the worker died")
    assert broken(past) == set()

    past.call(manner="hurried", reason="INVALID_MODEL", message="it is broken")
    assert broken(past) == {"Every error has a cause"}


def test_a_fault_long_ago_explains_nothing(past: Past) -> None:
    past.write("faults.jsonl", Fault("worker-kill", "A", 50.0, 50.0, 51.0))
    past.call(manner="hurried", reason="WORKER_DIED", message="the worker died")

    assert broken(past) == {"Every error has a cause"}


def test_no_fault_explains_a_server_that_does_not_know_what_failed(past: Past) -> None:
    past.write("faults.jsonl", Fault("replica-kill", "A", 100.0, 100.5, 101.0))
    past.call(manner="hurried", reason="INTERNAL", message="the server failed")

    assert broken(past) == {"Every error has a cause"}


def test_a_connection_that_broke_is_explained_by_faults_of_connections_only(past: Past) -> None:
    past.call(manner="hurried", reason="ConnectionResetError", origin="way")
    past.write("faults.jsonl", Fault("redis-kill", "redis", 100.0, 100.5, 101.0))
    assert broken(past) == {"Every error has a cause"}

    past.write("faults.jsonl", Fault("client-reset", "A", 100.0, 100.5, 101.0))
    assert broken(past) == set()


@pytest.mark.parametrize(
    "message",
    [
        "cannot open /etc/passwd",
        "Traceback (most recent call last)",
        'File "worker.py", line 3',
        "at 0x7f3a6c0021",
        "two\nlines",
    ],
)
def test_a_message_that_tells_of_the_inside_is_found(past: Past, message: str) -> None:
    past.call(manner="hurried", reason="DEADLINE_EXCEEDED", message=message)

    assert broken(past) == {"No message leaks internals"}


def test_a_hostile_call_may_be_refused_for_its_model_but_not_answered(
    past: Past, right: dict[str, Any]
) -> None:
    given = {"manner": "hostile", "case": "a-pickle", "seconds": 2.0}
    past.call(reason="INVALID_MODEL", message="it is no model", **given)
    assert broken(past) == set()

    past.answer(right, **given)
    assert "Every error has a cause" in broken(past)


def test_an_endless_call_that_outlives_its_deadline_is_found(past: Past) -> None:
    given = {"manner": "hostile", "case": "d-loop", "seconds": 2.0, "surface": "rest-json"}
    past.call(reason="DEADLINE_EXCEEDED", message="time is over", end=102.3, **given)
    assert broken(past) == set()

    past.call(reason="DEADLINE_EXCEEDED", message="time is over", end=103.0, **given)
    assert broken(past) == {"Endless calls end"}


def test_a_replica_that_is_unwell_without_a_fault_of_its_own_is_found(past: Past) -> None:
    past.write("faults.jsonl", Fault("zygote-kill", "A", 100.0, 103.0, 104.0))
    past.write("probes.jsonl", Probe("A", 102.0, "/readyz", 503, 0.01))
    assert broken(past) == set()

    past.write("probes.jsonl", Probe("B", 102.0, "/readyz", 503, 0.01))
    assert broken(past) == {"Health is right"}


def test_health_that_is_told_late_is_found(past: Past) -> None:
    past.write("probes.jsonl", *[Probe("A", t, "/livez", 200, 1.5) for t in range(10)])

    assert broken(past) == {"Health is right"}


@pytest.mark.parametrize(
    ("life", "key", "per_second"),
    [
        ("server-B-1", "resident_bytes", 100_000.0),
        ("server-B-1", "unexplained_descriptors", 0.05),
        ("server-B-1", "threads", 0.05),
        ("workers-B-1", "own_bytes", 500_000.0),
        ("shared-memory", "files", 0.05),
    ],
)
def test_each_leak_is_found(past: Past, life: str, key: str, per_second: float) -> None:
    lines = [Sample(float(t), life, {key: 50.0 + int(per_second * t)}) for t in range(600)]
    past.write("samples.jsonl", *lines)

    assert broken(past) == {"Nothing grows"}


def test_every_size_that_is_looked_at_has_a_bound(past: Past) -> None:
    keys = ("resident_bytes", "own_bytes", "threads", "unexplained_descriptors", "files")

    assert set(checker.ALLOWANCES) == set(keys)


def test_a_line_that_was_cut_off_is_left_out(past: Past, right: dict[str, Any]) -> None:
    past.answer(right)
    with (past.folder / "calls-00.jsonl").open("a") as file:
        file.write('{"surface": "gr')

    assert broken(past) == set()


def test_an_error_in_the_server_s_log_is_found(past: Past) -> None:
    (past.folder / "replica-A.log").write_text("all is well\nTraceback (most recent call last):\n")

    assert broken(past) == {"Shutdown is clean"}
