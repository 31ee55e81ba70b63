"""The judge: each rule is broken by what breaks it, and by nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rig import checker
from rig.checker import History, check
from rig.history import Fault, Probe, Sample


def broken(past: Any) -> set[str]:
    """Name the rules that a run broke."""
    return {verdict.rule for verdict in check(History(past.folder)) if not verdict.holds}


def test_a_run_in_which_all_is_right_breaks_nothing(past: Any, right: dict[str, Any]) -> None:
    past.answer(right)
    past.write("probes.jsonl", Probe("A", 100.0, "/readyz", 200, 0.01))

    assert broken(past) == set()


@pytest.mark.parametrize("factor", [1 + 1e-8, 2.0, -1.0, float("nan")])
def test_a_wrong_number_is_found(past: Any, right: dict[str, Any], factor: float) -> None:
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
def test_any_other_difference_is_found(past: Any, right: dict[str, Any], change: Any) -> None:
    change(right)
    past.answer(right)

    assert "No answer is wrong" in broken(past)


def test_the_last_digits_and_the_receipt_s_counts_may_differ(
    past: Any, right: dict[str, Any]
) -> None:
    right["explanations"][0]["values"][1] *= 1 + 1e-14
    right["receipt"] |= {"elapsed": "1s", "cacheHitCount": 4, "predictedRowCount": 9.0}
    past.answer(right)

    assert broken(past) == set()


def test_an_answer_to_a_question_without_a_right_answer_is_wrong(
    past: Any, right: dict[str, Any]
) -> None:
    past.answer(right, case="another")

    assert broken(past) == {"No answer is wrong"}


def test_an_error_without_a_fault_is_a_loss_and_has_no_cause(past: Any) -> None:
    past.call(reason="WORKER_DIED", message="the worker died")

    assert broken(past) == {"Nothing is lost with one retry", "Every error has a cause"}


def test_a_fault_explains_only_its_own_errors(past: Any) -> None:
    past.write("faults.jsonl", Fault("worker-kill", "A", 100.5, 100.5, 100.6))
    past.call(manner="hurried", reason="WORKER_DIED", message="the worker died")
    assert broken(past) == set()

    past.call(manner="hurried", reason="INVALID_MODEL", message="it is broken")
    assert broken(past) == {"Every error has a cause"}


def test_a_fault_long_ago_explains_nothing(past: Any) -> None:
    past.write("faults.jsonl", Fault("worker-kill", "A", 50.0, 50.0, 51.0))
    past.call(manner="hurried", reason="WORKER_DIED", message="the worker died")

    assert broken(past) == {"Every error has a cause"}


def test_no_fault_explains_a_server_that_does_not_know_what_failed(past: Any) -> None:
    past.write("faults.jsonl", Fault("replica-kill", "A", 100.0, 100.5, 101.0))
    past.call(manner="hurried", reason="INTERNAL", message="the server failed")

    assert broken(past) == {"Every error has a cause"}


def test_a_connection_that_broke_is_explained_by_faults_of_connections_only(past: Any) -> None:
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
def test_a_message_that_tells_of_the_inside_is_found(past: Any, message: str) -> None:
    past.call(manner="hurried", reason="DEADLINE_EXCEEDED", message=message)

    assert broken(past) == {"No message tells of the inside"}


def test_a_hostile_call_may_be_refused_for_its_model_but_not_answered(
    past: Any, right: dict[str, Any]
) -> None:
    given = {"manner": "hostile", "case": "a-pickle", "seconds": 2.0}
    past.call(reason="INVALID_MODEL", message="it is no model", **given)
    assert broken(past) == set()

    past.answer(right, **given)
    assert "Every error has a cause" in broken(past)


def test_an_endless_call_that_outlives_its_deadline_is_found(past: Any) -> None:
    given = {"manner": "hostile", "case": "d-loop", "seconds": 2.0, "surface": "rest-json"}
    past.call(reason="DEADLINE_EXCEEDED", message="time is over", end=102.3, **given)
    assert broken(past) == set()

    past.call(reason="DEADLINE_EXCEEDED", message="time is over", end=103.0, **given)
    assert broken(past) == {"Endless calls end"}


def test_a_replica_that_is_unwell_without_a_fault_of_its_own_is_found(past: Any) -> None:
    past.write("faults.jsonl", Fault("zygote-kill", "A", 100.0, 103.0, 104.0))
    past.write("probes.jsonl", Probe("A", 102.0, "/readyz", 503, 0.01))
    assert broken(past) == set()

    past.write("probes.jsonl", Probe("B", 102.0, "/readyz", 503, 0.01))
    assert broken(past) == {"Health is right"}


def test_health_that_is_told_late_is_found(past: Any) -> None:
    past.write("probes.jsonl", *[Probe("A", t, "/livez", 200, 1.5) for t in range(10)])

    assert broken(past) == {"Health is right"}


@pytest.mark.parametrize(
    ("life", "key", "per_second"),
    [
        ("server-B-1", "resident_bytes", 100_000.0),
        ("server-B-1", "descriptors", 0.05),
        ("server-B-1", "threads", 0.05),
        ("workers-B-1", "own_bytes", 500_000.0),
        ("shared-memory", "files", 0.05),
    ],
)
def test_each_leak_is_found(past: Any, life: str, key: str, per_second: float) -> None:
    lines = [Sample(float(t), life, {key: 50.0 + int(per_second * t)}) for t in range(600)]
    past.write("samples.jsonl", *lines)

    assert broken(past) == {"Nothing grows"}


def test_every_size_that_is_looked_at_has_a_bound(past: Any) -> None:
    keys = ("resident_bytes", "own_bytes", "threads", "descriptors", "files")

    assert set(checker.ALLOWANCES) == set(keys)


def test_a_line_that_was_cut_off_is_left_out(past: Any, right: dict[str, Any]) -> None:
    past.answer(right)
    with (past.folder / "calls-00.jsonl").open("a") as file:
        file.write('{"surface": "gr')

    assert broken(past) == set()


def test_an_error_in_the_server_s_log_is_found(past: Any) -> None:
    (past.folder / "replica-A.log").write_text("all is well\nTraceback (most recent call last):\n")

    assert broken(past) == {"All ends well"}
