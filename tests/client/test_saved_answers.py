"""Answers as JSON and as pages, which are those of the command line."""

import json
import math
from pathlib import Path

import onnxplain
import pytest
from google.protobuf import json_format
from onnxplain import Explanations
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server import cli
from onnxplain_server.__main__ import _cache, _runner
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests/conformance/cases").glob("*.json"))
MODEL, TABLE = ROOT / "examples/iris/lightgbm.onnx", ROOT / "examples/iris/iris.csv"


def expected() -> dict[str, ExplainResponse]:
    """Return the answers that the conformance cases expect, by case."""
    answers = {}
    for path in CASES:
        response = json.loads(path.read_text(encoding="utf-8"))["expected"].get("response", {})
        if "explanations" in response:
            message = json_format.ParseDict(response, ExplainResponse(), ignore_unknown_fields=True)
            answers[path.stem] = message
    return answers


ANSWERS = expected()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where the command line wrote one answer as JSON and as a page."""
    folder = tmp_path_factory.mktemp("written")
    parts = cli.ServiceParts(_runner, _cache, lambda _flags, _began: None)
    question = ["explain", str(MODEL), str(TABLE), "--method", "interactions", "--row-count", "20"]
    columns = ["--target-column", "species", "--output-file"]
    for output in ("json", "html"):
        file = folder / f"answer.{output}"
        words = [*question, *columns, str(file), "--output", output]
        done = CliRunner().invoke(cli.app, words, obj=parts)
        assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_is_the_same_after_json(case: str) -> None:
    answer = Explanations(ANSWERS[case])

    assert Explanations.from_json(answer.to_json()) == answer


def test_an_answer_with_every_kind_of_number_is_the_same_after_json(
    every_answer: ExplainResponse,
) -> None:
    """Among them NaN of either sign, infinity, and numbers of 17 digits."""
    every_answer.receipt.predicted_row_count = 2**53 - 1
    every_answer.explanations[4].average_loss.constant_losses[:] = [-math.nan]
    versions = every_answer.receipt.library_versions
    versions.update({f"library {k}": str(k) for k in range(40)})
    every_answer.explanations[4].average_loss.losses[0].values[0] = 0.1 + 0.2
    answer = Explanations(every_answer)

    again = Explanations.from_json(answer.to_json())
    assert again == answer
    backwards = {f"library {k}": str(k) for k in reversed(range(40))}  # and so in another order
    for name in list(backwards):
        del again.message.receipt.library_versions[name]
    again.message.receipt.library_versions.update(backwards)
    assert again == answer


def test_other_numbers_are_another_answer(every_answer: ExplainResponse) -> None:
    other = ExplainResponse()
    other.CopyFrom(every_answer)
    other.explanations[4].average_loss.losses[0].values[0] += 1

    assert Explanations(other) != Explanations(every_answer)
    assert Explanations(other) != "an answer"


def test_a_saved_answer_is_loaded(answer: ExplainResponse, tmp_path: Path) -> None:
    found = Explanations(answer)
    found.save(tmp_path / "answer.json")

    assert onnxplain.load(tmp_path / "answer.json") == found
    assert onnxplain.load(str(tmp_path / "answer.json")).interactions.pairwise


def test_what_the_command_line_wrote_is_loaded(written: Path) -> None:
    found = onnxplain.load(written / "answer.json")

    assert found.interactions.overall
    assert json.loads(found.to_json()) == json.loads((written / "answer.json").read_bytes())


def test_the_page_is_that_of_the_command_line(written: Path) -> None:
    page = onnxplain.load(written / "answer.json").to_html()

    assert without_seconds(page) == without_seconds((written / "answer.html").read_text("utf-8"))


def without_seconds(page: str) -> list[str]:
    """Return the lines that do not depend on what was computed before: no times, no counts."""
    return [line for line in page.splitlines() if "<dd>" not in line and "<span>" not in line]


@pytest.mark.parametrize("text", ["", "[]", '{"explanation": []}', b"\xff", '{"warnings": 3}'])
def test_something_else_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="this is no ExplainResponse in JSON, or one of a newer"):
        Explanations.from_json(text)
