"""Command `plan`, and the notice of long work."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1.plan_pb2 import (
    ExplanationPlan,
    MethodPlan,
    PlanSaving,
    RemainingQuota,
    SecondsInterval,
)
from onnxplain_server.cli.commands import command
from onnxplain_server.cli.output.long_work import warn_of_long_work
from typer.testing import Result

Run = Callable[..., Result]
LONG = ExplanationPlan(
    methods=[MethodPlan(name="interactions", engine="BLACK_BOX", predicted_row_count=4_000_500)],
    seconds=SecondsInterval(low=40, high=100),
    memory_byte_count=2e6,
    answer_byte_count=3e4,
    savings=[PlanSaving(field="row_count", value=250, time_share=0.25, accuracy="Less exact.")],
)


def test_a_plan_is_a_table(run: Run, parts, model: Path, table: Path) -> None:
    parts.planned = LONG
    result = run("plan", model, table, "--method", "interactions", "--row-count", 7)

    assert (result.exit_code, result.stderr) == (0, "")
    assert "at most 4,000,500" in result.stdout
    assert "row_count 250 leaves 25% of the time. Less exact." in result.stdout
    assert (parts.request.row_count, len(parts.request.methods)) == (7, 1)


def test_a_plan_is_json_where_asked_for(run: Run, parts, model: Path, table: Path) -> None:
    parts.planned = LONG
    document = json.loads(run("plan", model, table, "--json").stdout)

    assert document["methods"][0]["predictedRowCount"] == 4_000_500
    assert document["seconds"] == {"low": 40.0, "high": 100.0}


def test_a_plan_tells_what_the_caller_may_still_use(run: Run, parts, model, table) -> None:
    quota = RemainingQuota(predicted_row_count=1_500_000, processor_seconds=12.25)
    parts.planned.MergeFrom(ExplanationPlan(remaining_quota=quota))
    limited = run("plan", model, table).stdout
    document = json.loads(run("plan", model, table, "--json").stdout)
    parts.planned.remaining_quota.ClearField("predicted_row_count")
    timed = run("plan", model, table).stdout
    parts.planned.ClearField("remaining_quota")
    unlimited = run("plan", model, table).stdout

    both = "The server still allows 1,500,000 rows to predict and 12.2 s of processor time."
    assert both in " ".join(limited.split())
    assert document["remainingQuota"] == {
        "predictedRowCount": 1_500_000.0,
        "processorSeconds": 12.25,
    }
    assert "The server still allows 12.2 s of processor time." in timed
    assert "still allows" not in unlimited


def test_its_flags_are_those_of_explain() -> None:
    planned, explained = (
        {param.name for param in command(name).params} for name in ("plan", "explain")
    )
    assert explained - planned == {"output", "output_file"}
    assert planned - explained == {"json"}


@pytest.mark.parametrize(("is_terminal", "seconds"), [(True, 100), (True, 59), (False, 100)])
def test_a_terminal_is_told_of_long_work(
    monkeypatch: pytest.MonkeyPatch, capsys, *, is_terminal: bool, seconds: float
) -> None:
    asked: list[pb.ExplainRequest] = []

    def plan(request: pb.ExplainRequest) -> ExplanationPlan:
        asked.append(request)
        return ExplanationPlan(seconds=SecondsInterval(low=seconds / 2, high=seconds))

    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    warn_of_long_work(
        SimpleNamespace(answer=lambda _rpc, message: plan(message)), pb.ExplainRequest()
    )

    told = capsys.readouterr().err
    assert ("this takes about 0:50 to 1:40" in told) == (is_terminal and seconds > 60)
    assert bool(asked) == is_terminal
