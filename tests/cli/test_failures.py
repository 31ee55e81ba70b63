"""Failures of commands: a short last line on standard error, an exit code, no lost files."""

import gzip
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from onnxplain_server.cli import CommandError
from onnxplain_server.cli.failure import in_short
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.core.errors import ExplainError, Reason
from typer.testing import Result

Run = Callable[..., Result]

ASK = ("--method", "interactions")


def one_line(result: Result) -> str:
    """Return what the command said, after checking that it is one line and all."""
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("onnxplain: error: ")
    return result.stderr.removeprefix("onnxplain: error: ").rstrip("\n")


def test_a_refusal_is_one_line_with_its_reason(run: Run, parts, model: Path, table: Path) -> None:
    parts.error = ExplainError(
        Reason.UNKNOWN_FEATURE, "no feature\n is named\x1b[31m 'x'", "methods[0].interactions"
    )
    assert one_line(run("explain", model, table, *ASK)) == (
        r"--method interactions: no feature\n is named\x1b[31m 'x' (UNKNOWN_FEATURE)"
    )


@pytest.mark.parametrize("missing", ["model", "table", "request"])
def test_a_missing_file_is_one_line(
    run: Run, model: Path, table: Path, tmp_path: Path, missing: str
) -> None:
    paths: dict[str, Any] = {"model": model, "table": table, "request": None}
    paths[missing] = tmp_path / "none"
    ask = ("--request", paths["request"]) if paths["request"] else ASK

    assert one_line(run("explain", paths["model"], paths["table"], *ask)) == (
        f"cannot read {tmp_path}/none: No such file or directory (FILE_UNREADABLE)"
    )


def test_a_broken_packed_table_is_one_line(run: Run, model: Path, tmp_path: Path) -> None:
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(b"age\n20\n")[:-9])

    line = one_line(run("explain", model, packed, *ASK))

    assert line.startswith(f"cannot read {packed}: the table begins like a gzip file")
    assert line.endswith("(FILE_UNREADABLE)")


def test_a_request_that_is_no_json_is_one_line(run: Run, model: Path, table: Path) -> None:
    line = one_line(run("explain", model, table, "--request", table))
    assert line.startswith("the JSON must be an object")
    assert line.endswith("(INVALID_REQUEST)")


def test_a_value_that_the_option_cannot_have_is_one_line(
    run: Run, model: Path, table: Path
) -> None:
    line = one_line(run("explain", model, table, *ASK, "--set", "pairwise_feature_count=many"))
    assert line == (
        "--set pairwise_feature_count must be a whole number of 32 bits (INVALID_REQUEST)"
    )


def test_a_number_too_large_for_its_field_is_one_line(run: Run, model: Path, table: Path) -> None:
    line = one_line(run("explain", model, table, *ASK, "--row-count", str(2**40)))
    assert line.startswith("--row-count must be")


def test_a_server_that_is_not_there_is_told_in_one_line(run: Run, model: Path, table: Path) -> None:
    asked = ("explain", model, table, *ASK, "--endpoint", "127.0.0.1:1", "--timeout", "1")

    line = one_line(run(*asked))

    assert line.startswith("no answer from 127.0.0.1:1: failed to connect")
    assert line.endswith("check that a server listens there (UNAVAILABLE)")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        pytest.param(["--method", "interaction"], "there are interactions", id="method"),
        pytest.param([*ASK, "--set", "pairs=3"], "it has features", id="option"),
        pytest.param([*ASK, "--set", "pairs"], "takes OPTION=VALUE", id="no value"),
        pytest.param(["--set", "grid_size=3", *ASK, *ASK], "follow the --method", id="whose"),
        pytest.param([*ASK, "--scale", "LOG"], "RESPONSE, MARGIN", id="scale"),
        pytest.param([*ASK, "--output", "xml"], "json", id="output"),
        pytest.param([*ASK, "--colour"], "--colour", id="flag"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_is_right(
    run: Run, model: Path, table: Path, arguments: list[str], hint: str
) -> None:
    result = run("explain", model, table, *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert hint in result.stderr


def test_wrong_usage_names_the_flag_once_in_the_last_line(
    run: Run, model: Path, table: Path
) -> None:
    result = run("explain", model, table, *ASK, "--set", "pairs=3")

    told = "Error: Invalid value for --set: interactions has no option 'pairs'; it has features, "
    assert result.stderr.splitlines()[-1].startswith(told)
    assert result.stderr.count("has no option 'pairs'") == 1


def test_a_field_of_a_request_file_keeps_its_name(
    run: Run, parts, model: Path, table: Path, tmp_path: Path
) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"targetColumn": "y", "methods": [{"interactions": {}}]}')
    parts.error = ExplainError(Reason.MISSING_COLUMN, "no column", "target_column")

    in_file = one_line(run("explain", model, table, "--request", file))
    flag = one_line(run("explain", model, table, "--request", file, "--target-column", "y"))

    assert in_file == "target_column: no column (MISSING_COLUMN)"
    assert flag == "--target-column: no column (MISSING_COLUMN)"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the model is empty: 0 bytes"),
        (b"junk", "The 4 bytes are no ONNX model, or only a part of one."),
    ],
)
def test_describe_names_the_file_that_is_no_model(
    tmp_path: Path, content: bytes, told: str
) -> None:
    """By the real runner: what a file is, is seen only by reading it."""
    file = tmp_path / "m.onnx"
    file.write_bytes(content)

    command = [sys.executable, "-m", "onnxplain_server", "describe", file.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"onnxplain: error: m.onnx: {told}")
    assert last.endswith("(INVALID_MODEL)")


def test_an_output_file_that_was_there_survives_a_refusal(
    run: Run, parts, model: Path, table: Path, tmp_path: Path
) -> None:
    target = tmp_path / "answer.json"
    target.write_text("precious")
    parts.error = ExplainError(Reason.EMPTY_TABLE, "no rows")

    one_line(run("explain", model, table, *ASK, "--output-file", target))

    assert target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "answer.json",
        "model.onnx",
        "rows.csv",
    ]


def test_a_place_that_cannot_be_written_shows_before_computing(
    run: Run, parts, model: Path, table: Path, tmp_path: Path
) -> None:
    target = tmp_path / "none" / "answer.json"

    line = one_line(run("explain", model, table, *ASK, "--output-file", target))

    assert line == f"cannot write {target}: No such file or directory (FILE_UNWRITABLE)"
    assert not parts.request.HasField("model")


def test_a_folder_is_no_output_file(run: Run, model: Path, table: Path, tmp_path: Path) -> None:
    line = one_line(run("explain", model, table, *ASK, "--output-file", tmp_path))
    assert line == f"cannot write {tmp_path}: Is a directory (FILE_UNWRITABLE)"


def test_ctrl_c_ends_the_computation_at_its_next_step(
    run: Run, parts, model: Path, table: Path
) -> None:
    parts.during = lambda _host: os.kill(os.getpid(), signal.SIGINT)

    result = run("explain", model, table, *ASK)

    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")


def test_ctrl_c_means_what_it_did_after_the_command(run: Run, model: Path, table: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    run("explain", model, table, *ASK)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_timeout_ends_the_computation(run: Run, model: Path, table: Path) -> None:
    line = one_line(run("explain", model, table, *ASK, "--timeout", "0"))
    assert line.endswith("(DEADLINE_EXCEEDED)")


def test_a_setting_that_cannot_be_used_is_wrong_usage(run: Run, parts) -> None:
    parts.error = SettingsError("--rest-port: must be a number")
    result = run("serve", "--rest-port", "x")

    assert result.exit_code == 2
    assert "--rest-port: must be a number" in result.stderr


def test_a_port_that_is_taken_is_one_line(run: Run, parts) -> None:
    parts.error = OSError("cannot listen on 127.0.0.1:8080")
    assert one_line(run("serve")) == "cannot listen on 127.0.0.1:8080 (CANNOT_LISTEN)"


def test_workers_that_cannot_be_started_are_one_line_of_their_own(run: Run, parts) -> None:
    parts.error = CommandError("CANNOT_START_WORKERS", "no worker could be started: no memory")
    assert one_line(run("serve")) == "no worker could be started: no memory (CANNOT_START_WORKERS)"


def test_an_answer_that_is_no_json_cannot_be_plotted(run: Run, table: Path) -> None:
    assert one_line(run("plot", table)).endswith("(INVALID_REQUEST)")


def test_a_library_that_windows_lacks_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), in_short():
        raise ImportError("DLL load failed while importing onnxruntime: Module not found.")

    told = capsys.readouterr().err
    assert "importing onnxruntime: Module not found; install Microsoft's Visual C++" in told
    assert told.endswith("(LIBRARY_MISSING)\n")


def test_other_imports_that_fail_keep_their_traceback() -> None:
    with pytest.raises(ImportError), in_short():
        raise ImportError("no module of ours")
