"""Command `compare`: answers and models side by side, rules with each exit code, files for CI."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1.average_loss_pb2 import AverageLossOptions
from onnxplain.v1.explanation_comparison_pb2 import ReplicatedStatistic
from onnxplain_server.wire import canonical
from typer.testing import Result

Run = Callable[..., Result]


def kept(
    loss: float, zip_share: float, error: float, table: str = "sha256:1"
) -> pb.ExplainResponse:
    """An answer with kept replicates: the average loss, and two importances."""
    random = np.random.default_rng(0)
    answer = pb.ExplainResponse(receipt={"table_digest": table})
    values = {("AVERAGE_LOSS", ""): loss}
    values |= {("IMPORTANCE_SQUARE", "zip"): zip_share, ("IMPORTANCE_SQUARE", "age"): 0.5}
    for method in ("average_loss", "interactions"):
        explanation = answer.explanations.add()
        getattr(explanation, method).SetInParent()
        getattr(explanation.options, method).SetInParent()
        explanation.rows.drawn_row_count = 500
        explanation.replicates.output_names.append("price")
        for (kind, feature), value in values.items():
            if (kind == "AVERAGE_LOSS") is (method == "average_loss"):
                drawn = value + error * random.normal(size=200)
                explanation.replicates.statistics.append(
                    ReplicatedStatistic(
                        kind=kind,
                        features=[feature] * bool(feature),
                        values=[value],
                        replicates=drawn,
                        unit_count=500,
                    )
                )
    return answer


@pytest.fixture
def write(tmp_path) -> Callable[[str, pb.ExplainResponse], Path]:
    def written(name: str, answer: pb.ExplainResponse) -> Path:
        path: Path = tmp_path / name
        path.write_text(canonical.encode(answer), encoding="utf-8")
        return path

    return written


@pytest.fixture
def before(write) -> Path:
    path: Path = write("before.json", kept(1.0, 0.02, 0.01))
    return path


RULES = """
[[rule]]
name = "the loss stays"
statistic = "average_loss"
holds = "change <= 0.05"

[[rule]]
statistic = "importance_square"
features = ["zip"]
holds = "value <= 0.1"
"""


@pytest.mark.parametrize(
    ("loss", "share", "error", "exit_code", "verdicts"),
    [
        (1.0, 0.02, 0.01, 0, ["HOLDS", "HOLDS"]),
        (1.4, 0.02, 0.01, 4, ["FAILS", "HOLDS"]),
        (1.04, 0.1, 0.3, 3, ["UNDECIDED", "UNDECIDED"]),
        (1.4, 0.1, 0.05, 4, ["FAILS", "UNDECIDED"]),
    ],
)
def test_rules_have_exit_codes_and_files_for_ci(
    run: Run, write, before, tmp_path, loss, share, error, exit_code, verdicts
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES, encoding="utf-8")
    after = write("after.json", kept(loss, share, error, "sha256:2"))
    xml, markdown = tmp_path / "rules.xml", tmp_path / "changes.md"
    files = ("--rules", rules, "--junit-xml", xml, "--markdown", markdown)
    result = run("compare", before, after, *files, "--output", "table")

    assert (result.exit_code, result.stderr) == (exit_code, "")
    suite = ET.parse(xml).getroot()  # noqa: S314 - written by the command
    outcomes = {"failure": "FAILS", "error": "UNDECIDED"}
    told = [outcomes[case[0].tag] if len(case) else "HOLDS" for case in suite]
    assert told == verdicts
    document = json.loads(run("compare", before, after, "--rules", rules).stdout)
    found = document["findings"]
    assert [each["verdict"] for each in found] == verdicts
    assert found[0]["rule"]["name"] == suite[0].attrib["name"]
    assert suite.attrib["failures"] == str(verdicts.count("FAILS"))
    assert suite.attrib["errors"] == str(verdicts.count("UNDECIDED"))
    assert suite[0].attrib["name"] == "the loss stays"
    page = markdown.read_text(encoding="utf-8")
    assert document["summary"][0] in page.replace("\\", "")
    assert all(verdict in page and verdict in result.stdout for verdict in verdicts)


def test_answers_are_compared_as_json_in_a_pipe(run: Run, write, before) -> None:
    after = write("after.json", kept(1.4, 0.02, 0.01))
    result = run("compare", before, after, "--correction", "NONE", "--confidence-level", "0.9")

    document = json.loads(result.stdout)
    assert document["isPaired"] is True
    assert document["options"]["correction"] == "NONE"
    verdicts = {each["kind"]: each["verdict"] for each in document["differences"]}
    assert verdicts == {"AVERAGE_LOSS": "CHANGED", "IMPORTANCE_SQUARE": "NOT_SHOWN"}


def test_tables_tell_only_what_is_decided(run: Run, write, before) -> None:
    after = write("after.json", kept(1.4, 0.021, 0.01, "sha256:2"))
    told = " ".join(run("compare", before, after, "--output", "table").stdout.split())

    assert "1 of 3 numbers and curves has changed" in told
    assert "Average loss rose from 1 to 1.4" in told
    assert "zip rose" not in told
    assert "independent samples" in told


def test_a_model_is_explained_by_the_methods_and_the_seed_of_a_kept_answer(
    run: Run, parts, write, model, table
) -> None:
    own = kept(1.0, 0.02, 0.01)
    own.receipt.seed = 7
    own.receipt.request.row_count = 300
    own.explanations[1].options.interactions.repeat_count = 30
    parts.answered = own
    result = run("compare", write("before.json", own), model, "--table", table)

    assert result.exit_code == 0, result.output
    names = [method.WhichOneof("method") for method in parts.request.methods]
    assert names == ["average_loss", "interactions"]
    assert (parts.request.seed, parts.request.row_count, parts.request.replicates) == (7, 300, True)
    assert parts.request.methods[1].interactions.repeat_count == 30
    assert not parts.request.HasField("reference")


def test_models_are_explained_by_interactions_and_the_loss(run: Run, parts, model, table) -> None:
    parts.answered = kept(1.0, 0.02, 0.01)
    result = run("compare", model, model, "--table", table, "--target-column", "age")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["testedCount"] == 3
    assert parts.request.target_column == "age"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("model", "before"), "a kept answer is the reference", id="order"),
        pytest.param(("before", "model"), "the rows of --table", id="no rows"),
        pytest.param(
            ("before", "model", "--table", "table", "--method", "firm"),
            "the methods are those of the kept answer",
            id="methods",
        ),
        pytest.param(("before", "before", "--junit-xml", "x.xml"), "--rules", id="no rules"),
    ],
)
def test_what_contradicts_itself_is_a_usage_error(
    run: Run, before, model, table, arguments, message
) -> None:
    paths = {"before": before, "model": model, "table": table}
    result = run("compare", *(paths.get(word, word) for word in arguments))

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_an_answer_without_replicates_is_refused(run: Run, write, before) -> None:
    bare = kept(1.0, 0.02, 0.01)
    for explanation in bare.explanations:
        explanation.ClearField("replicates")
    result = run("compare", write("bare.json", bare), before)

    assert result.exit_code == 1
    assert "has no replicates" in result.stderr


def page_of(run: Run, folder: Path, *arguments: object) -> str:
    path = folder / "changes.html"
    done = run("compare", *arguments, "--output-file", path)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    return path.read_text(encoding="utf-8")


def test_a_page_tells_losses_as_tiles_and_rules_with_their_verdicts(
    run: Run, write, before, tmp_path
) -> None:
    answer = kept(1.44, 0.021, 0.01)
    after = write("after.json", answer)
    for side in (before, after):
        changed = canonical.decode(side.read_bytes(), pb.ExplainResponse)
        changed.receipt.model_name = f"<b>{side.stem}</b>.onnx"
        changed.explanations[0].options.average_loss.loss = AverageLossOptions.SQUARED_ERROR
        side.write_text(canonical.encode(changed), encoding="utf-8")
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES, encoding="utf-8")
    path = tmp_path / "changes.html"
    done = run("compare", before, after, "--rules", rules, "--output-file", path)
    html = path.read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]*>", " ", html.replace("<wbr>", "")).split())

    assert done.exit_code == 4
    assert (
        "What has changed from &lt;b&gt;before&lt;/b&gt;.onnx to &lt;b&gt;after&lt;/b&gt;.onnx"
        in text
    )
    tile = "Root mean squared error 1.2 units of price 1 before; worse by more than chance"
    assert tile in text
    assert "the loss stays FAILS" in text
    assert "<b>before" not in html
    assert "Ranks by importance for price" in html
    assert "Both sides have the same table and seed, so replicates draw the same rows." in text


def test_tables_name_the_target_where_a_model_only_numbers_its_output(
    run: Run, write, tmp_path
) -> None:
    before, after = kept(1.0, 0.02, 0.01), kept(2.0, 0.02, 0.01)
    for answer in (before, after):
        answer.receipt.request.target_column = "price"
        answer.model.output_names.append("variable")
        for explanation in answer.explanations:
            explanation.replicates.output_names[:] = ["variable"]
    files = write("before.json", before), write("after.json", after)

    told = run("compare", *files, "--output", "table").stdout

    assert "average loss for price" in told
    assert "variable" not in told
    as_json = json.loads(run("compare", *files, "--output", "json").stdout)
    assert {each["outputName"] for each in as_json["differences"]} == {"variable"}
    assert "Change of average loss for price" in {plot["title"] for plot in as_json["plots"]}
    shown = re.sub(r"<script>.*?</script>", "", page_of(run, tmp_path, *files), flags=re.DOTALL)
    assert "Change of average loss for price" in shown


def test_a_feature_that_a_model_only_now_uses_enters_the_leading_ones(
    run: Run, write, tmp_path
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nranking = "importance"\nnew_leading_features = false')
    before, after = kept(1.0, 0.0, 0.0), kept(1.0, 0.01, 0.0)
    files = write("before.json", before), write("after.json", after)
    table = ("--rules", rules, "--output", "table")

    entered, left = (run("compare", *sides, *table) for sides in (files, files[::-1]))

    assert (entered.exit_code, left.exit_code) == (4, 0)
    told = " ".join(entered.stdout.split())
    assert "zip entered the leading features by importance" in told
    assert "not used to rank 2; new in 100% of the replicates" in told
    assert "zip left the leading features" in " ".join(left.stdout.split())


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (f"max_change = {'9' * 400}", "too large"),
        (f"max_change = {'9' * 5000}", "no TOML"),
        (f"features = {'[' * 3000}", "nested too deeply"),
    ],
)
def test_rules_that_cannot_be_read_are_refused_in_words(
    run: Run, before, tmp_path, condition, reason
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(f'[[rule]]\nstatistic = "importance"\n{condition}')
    result = run("compare", before, before, "--rules", rules)

    assert result.exit_code == 1
    assert reason in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
