"""Output of commands: standard output and files."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import json_format
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.cli.commands import command
from onnxplain_server.config.setting_names import flag
from onnxplain_server.config.settings import Settings
from typer.testing import Result

Run = Callable[..., Result]

ASK = ("--method", "interactions")


def test_standard_output_is_the_canonical_answer_and_nothing_else(
    run: Run, model: Path, table: Path, answer: pb.ExplainResponse
) -> None:
    result = run("explain", model, table, *ASK)

    assert (result.exit_code, result.stderr) == (0, "")
    read = json_format.Parse(result.stdout, pb.ExplainResponse())
    assert read.SerializeToString(deterministic=True) == answer.SerializeToString(
        deterministic=True
    )
    assert json.loads(result.stdout)["explanations"][0]["interactions"]["meanSquares"] == [16.0]


def test_an_output_file_gets_what_standard_output_would(
    run: Run, model: Path, table: Path, tmp_path: Path
) -> None:
    target = tmp_path / "answer.json"
    target.write_text("old")
    target.chmod(0o640)

    printed = run("explain", model, table, *ASK)
    written = run("explain", model, table, *ASK, "--output-file", target)

    assert written.stdout == ""
    assert target.read_text() == printed.stdout
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("ending", ["html", "HTM"])
def test_the_ending_of_the_output_file_chooses_its_format(
    run: Run, model: Path, table: Path, tmp_path: Path, ending: str
) -> None:
    target = tmp_path / f"page.{ending}"

    run("explain", model, table, *ASK, "--output-file", target)
    run("explain", model, table, *ASK, "--output", "json", "--output-file", tmp_path / "json.html")

    assert target.read_text().startswith("<!DOCTYPE html>")
    assert json.loads((tmp_path / "json.html").read_text())


def test_a_new_output_file_has_the_permissions_of_any_new_file(
    run: Run, model: Path, table: Path, tmp_path: Path
) -> None:
    run("explain", model, table, *ASK, "--output-file", tmp_path / "answer.json")
    assert (tmp_path / "answer.json").stat().st_mode == table.stat().st_mode


def test_a_linked_output_file_stays_a_link(
    run: Run, model: Path, table: Path, tmp_path: Path
) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)

    run("explain", model, table, *ASK, "--output-file", link)

    assert link.is_symlink()
    assert target.read_text().startswith("{")


def test_a_device_is_written_and_not_replaced(run: Run, model: Path, table: Path) -> None:
    run("explain", model, table, *ASK, "--output-file", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_reader_who_has_seen_enough_is_no_failure(saved: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    command = [sys.executable, "-m", "onnxplain_server", "plot", str(saved), "--format", "html"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=600)
    os.close(writer)

    assert done.stderr == b""


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_tables_show_the_strongest_first_with_three_digits(
    run: Run, model: Path, table: Path
) -> None:
    result = run("explain", model, table, *ASK, "--output", "table")

    lines = rows(result.stdout)
    assert ["Warning:", "only", "labels", "(LABELS_ONLY)"] in lines
    assert ["features", "share", "size", "(units", "of", "price)"] in lines
    assert lines.index(["bmi", "0.0625", "1"]) < lines.index(["age", "0.00391", "0.25"])
    assert max(len(line) for line in result.stdout.splitlines()) <= 100


def test_tables_say_how_to_read_them_and_when_not_to_rely_on_them(
    run: Run, model: Path, table: Path
) -> None:
    lines = run("explain", model, table, *ASK, "--output", "table").stdout.splitlines()
    at = lines.index("Pairs")

    assert lines[at + 1].startswith("share = H²_jk")
    assert lines[at + 2].startswith("Limit: compare pairs by size")


def test_tables_begin_with_the_summary(run: Run, model: Path, table: Path) -> None:
    text = run("explain", model, table, "--method", "interactions", "--output", "table").stdout
    assert text.startswith("Nothing is summed up, because of the warning LABELS_ONLY.\n\nWarning: ")


def test_plain_tables_break_no_name(run: Run, parts, model: Path, table: Path) -> None:
    answer = parts.answered
    long = [f"a_{letter * 60}" for letter in "bcd"]
    answer.explanations[0].interactions.pairwise[0].features[:] = long

    text = run("explain", model, table, "--method", "interactions", "--output", "table").stdout

    assert all(name in text for name in [" × ".join(long)])


def test_tables_say_where_there_is_no_number(run: Run, model: Path, table: Path) -> None:
    result = run("explain", model, table, *ASK, "--output", "table")
    assert ["age", "×", "bmi", "no", "number", "no", "number"] in rows(result.stdout)


def test_tables_show_where_a_curve_is_lowest_and_highest(
    run: Run, model: Path, table: Path
) -> None:
    result = run("explain", model, table, *ASK, "--output", "table")
    assert ["age", "101.99", "30", "104.12", "20"] in rows(result.stdout)


def test_tables_make_no_terminal_codes_of_names(
    run: Run, model: Path, table: Path, answer: pb.ExplainResponse
) -> None:
    answer.explanations[0].interactions.overall[0].features[0] = "[red]age\x1b[2J"
    result = run("explain", model, table, *ASK, "--output", "table")

    assert "[red]age\\u001b[2J" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.fixture
def losses(answer: pb.ExplainResponse) -> None:
    """Make the answer one by the methods that compare with true values, and of single rows."""
    del answer.explanations[:]
    answer.explanations.add(
        permutation_importance={
            "output_names": ["price"],
            "baseline_losses": [4.0],
            "importances": [
                {"features": ["age"], "values": [0.25], "standard_errors": [0.0312345]},
                {"features": ["bmi"], "values": [12.0], "standard_errors": [1.5]},
            ],
        },
        options={"permutation_importance": {"loss": "SQUARED_ERROR"}},
    )
    answer.explanations.add(
        average_loss={
            "output_names": ["price"],
            "losses": [
                {"group": "east", "values": [2.0], "weight": 3},
                {"group": "west", "values": [8.0], "weight": 1},
            ],
        },
        options={"average_loss": {"loss": "SQUARED_ERROR", "group_column": "region"}},
    )
    answer.explanations.add(
        individual_conditional_expectation={
            "output_names": ["price"],
            "curves": [
                {
                    "feature": "age",
                    "grid": [{"name": "age", "numbers": [20, 30]}],
                    "row_indices": [3, 5],
                    "groups": ["", ""],
                    "values": [1, 2, 1, 4],
                }
            ],
        }
    )


@pytest.mark.usefixtures("losses")
def test_tables_show_importances_losses_and_curves_of_rows(
    run: Run, model: Path, table: Path
) -> None:
    result = run("explain", model, table, *ASK, "--output", "table")

    lines = rows(result.stdout)
    # Squared errors are told by their roots: of 4 before, and of 16 and 4.25 after shuffling.
    bmi, age = ["bmi", "2", "0.188", "4"], ["age", "0.0616", "0.00758", "2.06"]
    assert lines.index(bmi) < lines.index(age)
    assert lines.index(["east", "1.41", "3"]) < lines.index(["west", "2.83", "1"])
    assert ["age", "2", "2", "3", "5"] in lines
    assert max(len(line) for line in result.stdout.splitlines()) <= 100


def test_a_long_table_ends_with_what_is_left_out(
    run: Run, model: Path, table: Path, answer: pb.ExplainResponse
) -> None:
    overall = answer.explanations[0].interactions.overall
    for index in range(40):
        overall.add(features=[f"f{index}"], numerators=[0], denominators=[16], values=[0])
    result = run("explain", model, table, *ASK, "--output", "table")

    assert "12 weaker ones are left out here; the JSON has all." in result.stdout
    assert "f39" not in result.stdout


def test_html_is_a_page_about_the_model(run: Run, model: Path, table: Path) -> None:
    result = run("explain", model, table, *ASK, "--output", "html")
    assert "<title>What model.onnx has learned</title>" in result.stdout


def test_describe_prints_the_canonical_description(run: Run, parts, model: Path) -> None:
    result = run("describe", model)

    assert json.loads(result.stdout)["model"]["outputNames"] == ["price"]
    assert parts.described.model.content == model.read_bytes()
    assert ["outputs", "price"] in rows(run("describe", model, "--output", "table").stdout)


@pytest.fixture
def saved(answer: pb.ExplainResponse, tmp_path: Path) -> Path:
    path = tmp_path / "answer.json"
    path.write_text(json_format.MessageToJson(answer))
    return path


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("vega-lite", b'{"data"'),
        ("svg", b"<svg"),
        ("png", b"\x89PNG"),
        ("html", b"<!DOCTYPE html>"),
    ],
)
def test_a_plot_is_drawn_in_every_form(
    run: Run, saved: Path, tmp_path: Path, form: str, start: bytes
) -> None:
    by_flag, by_ending = tmp_path / "plot", tmp_path / f"plot.{form}"

    run("plot", saved, "--name", "curve-age", "--format", form, "--output-file", by_flag)
    run("plot", saved, "--name", "curve-age", "--output-file", by_ending)

    assert by_flag.read_bytes().startswith(start)
    assert by_ending.read_bytes() == by_flag.read_bytes()


def test_a_still_picture_shows_the_chosen_measure(
    run: Run, answer: pb.ExplainResponse, tmp_path: Path
) -> None:
    spec = {
        "data": {"values": [{"measure": "size", "t": "s i z e"}, {"measure": "share", "t": "s h"}]},
        "params": [
            {"name": "measure", "value": "size",
             "bind": {"input": "radio", "options": ["size", "share"]}}
        ],
        "transform": [{"filter": "datum.measure == measure"}],
        "mark": "text",
        "encoding": {"text": {"field": "t"}},
    }  # fmt: skip
    answer.explanations[0].plots[0].vega_lite = json.dumps(spec)
    path = tmp_path / "answer.json"
    path.write_text(json_format.MessageToJson(answer))
    ask = ("plot", path, "--name", "overall")

    assert "s i z e" in run(*ask).stdout
    assert "s h" in run(*ask, "--measure", "share").stdout
    assert "has size and share, not 'shares'" in run(*ask, "--measure", "shares").stderr
    other = run("plot", path, "--name", "curve-age", "--measure", "size")
    assert "has no choice of measures, not 'size'" in other.stderr


def test_the_answer_to_plot_may_come_from_standard_input(run: Run, saved: Path) -> None:
    result = run("plot", "-", "--name", "overall", stdin=saved.read_bytes())
    assert result.stdout.startswith("<svg")


def test_without_a_name_html_is_the_whole_answer(run: Run, saved: Path) -> None:
    result = run("plot", saved, "--format", "html")
    assert result.stdout.count("<figure") == 2


@pytest.mark.parametrize("name", [[], ["--name", "none"]])
def test_a_plot_that_is_not_one_is_asked_back_with_the_names(
    run: Run, saved: Path, name: list[str]
) -> None:
    result = run("plot", saved, *name)

    assert result.exit_code == 2
    assert "overall, curve-age" in result.stderr


def test_a_plot_fetches_nothing(run: Run, answer: pb.ExplainResponse, tmp_path: Path) -> None:
    spec = '{"data": {"url": "http://127.0.0.1:1/x.csv"}, "mark": "bar"}'
    answer.explanations[0].plots[0].vega_lite = spec
    path = tmp_path / "hostile.json"
    path.write_text(json_format.MessageToJson(answer))

    result = run("plot", path, "--name", "overall")

    assert result.exit_code == 1
    assert "(INVALID_PLOT)" in result.stderr


def test_serve_has_one_flag_for_each_setting(run: Run) -> None:
    flags = [text for param in command("serve").params for text in param.opts]
    assert flags == [flag(name) for name in Settings.model_fields]
    assert {"--config", "--rest-port"} <= set(flags)


def test_serve_passes_on_only_the_flags_that_were_given(run: Run, parts) -> None:
    run("serve", "--rest-port", "0", "--max-model-bytes", "1MiB")
    assert parts.settings == {"rest_port": "0", "max_model_bytes": "1MiB"}


def test_version_is_that_of_the_package(run: Run) -> None:
    assert run("version").stdout == "onnxplain 0.1.0\n" == run("--version").stdout


def test_a_table_tells_the_rows_of_each_method(run: Run, model: Path, table: Path) -> None:
    printed = run("explain", model, table, *ASK, "--output", "table").stdout

    assert "Partial dependence: 500 rows (seed 3)" in printed
    assert "rows used" not in printed


def test_help_names_no_number_of_rows_that_only_some_methods_draw(run: Run) -> None:
    words = " ".join(run("explain", "--help").stdout.replace("│", " ").split())

    assert "[default: by method, see `onnxplain options NAME`]" in words
    assert "[default: 500]" not in words
