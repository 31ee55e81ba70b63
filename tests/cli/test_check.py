"""Command `check`: its exit code, and files of predictions beside tables of all formats."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnx import TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import CheckModelRequest
from onnxplain_server import cli
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.cli import ServiceParts
from typer.testing import CliRunner, Result

ROWS = [("01", 0.5, 2), ("a;b", -1.25, 3), ('say "so"', 4, 5)]


def run(*words: object) -> Result:
    parts = ServiceParts(
        runner=lambda _workers: InProcess(1),
        cache=lambda: MemoryCache(2**20, Signer(b"key")),
        serve=lambda _flags, _began: None,
    )
    return CliRunner().invoke(cli.app, ["check", *map(str, words)], obj=parts)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The model x + y, with a text that it takes and does not use."""
    kinds = {"text": TensorProto.STRING, "x": TensorProto.FLOAT, "y": TensorProto.FLOAT}
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["sum"])],
        "total",
        [helper.make_tensor_value_info(name, kind, ["n", 1]) for name, kind in kinds.items()],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["n", 1])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def comma(path: Path) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "x", "y"), *ROWS])
    return path


def semicolon(path: Path) -> Path:
    """With decimal commas."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(("text", "x", "y"))
        writer.writerows((text, str(x).replace(".", ","), y) for text, x, y in ROWS)
    return path


def text_with_a_comma(path: Path) -> Path:
    """With decimal points, and a cell of text that looks like a number with a decimal comma."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(("text", "x", "y"))
        writer.writerows(("1,2" if k else "a", x, y) for k, (_, x, y) in enumerate(ROWS))
    return path


def western(path: Path) -> Path:
    """In latin-1, of which the model reads numbers only."""
    lines = ["name,text,x,y", *(f"Müller {x},a,{x},{y}" for _, x, y in ROWS)]
    path.write_text("\n".join(lines), "latin-1")
    return path


def utf_16(path: Path) -> Path:
    path.write_text("sep=;\ntext;x;y\n" + "".join(f"ü;{x};{y}\n" for _, x, y in ROWS), "utf-16")
    return path


def large_cells(path: Path) -> Path:
    """With cells beyond the limit of the reader that Python has, and line breaks within some."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("text", "x", "y"), *(("a\r" * 70_000, x, y) for _, x, y in ROWS)])
    return path


def parquet(path: Path) -> Path:
    columns = dict(zip(("text", "x", "y"), zip(*ROWS, strict=True), strict=True))
    pq.write_table(pa.table({name: list(column) for name, column in columns.items()}), path)
    return path


def expected(path: Path, *values: float, name: str = "p", rows: bool = True) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", name] if rows else [name])
        writer.writerows([k, value] if rows else [value] for k, value in enumerate(values))
    return path


@pytest.mark.parametrize(
    "form", [comma, semicolon, text_with_a_comma, western, utf_16, large_cells, parquet]
)
def test_a_file_of_predictions_is_compared_row_by_row(
    tmp_path: Path, model: Path, form: Callable[[Path], Path]
) -> None:
    table = form(tmp_path / "table")
    right = run(model, table, "--against", expected(tmp_path / "p.csv", 2.5, 1.75, 9))
    wrong = run(model, table, "--against", expected(tmp_path / "p.csv", 2.5, 1.75, 9.25))

    assert (right.exit_code, json.loads(right.output)["comparison"]["agrees"]) == (0, True)
    assert wrong.exit_code == 3
    compared = json.loads(wrong.output)["comparison"]
    assert [row["rowIndex"] for row in compared["differingRows"]] == [2]
    assert compared["outputs"][0]["largestDifference"] == 0.25


def test_other_cells_of_csv_stay_as_they_stand(tmp_path: Path, model: Path) -> None:
    from onnxplain_server.cli.requests.against import beside  # noqa: PLC0415 - beside its test
    from onnxplain_server.cli.requests.request import table_message  # noqa: PLC0415

    rows = table_message(str(comma(tmp_path / "rows.csv")))
    given = table_message(str(expected(tmp_path / "p.csv", 1, 2, 3, name="y")))
    together, names = beside(rows, given, ())

    assert names == ["expected y"]
    read = list(csv.reader(together.csv.decode().splitlines()))
    assert [row[0] for row in read] == ["text", *(text for text, _, _ in ROWS)]
    assert [row[3] for row in read] == ["expected y", "1.0", "2.0", "3.0"]


def test_columns_of_the_table_may_hold_what_is_expected(tmp_path: Path, model: Path) -> None:
    table = comma(tmp_path / "rows.csv")
    done = run(model, table, "--expected-prediction-columns", "y", "--output", "table")

    assert done.exit_code == 3
    assert "2 of 3 rows differ by more than rounding." not in done.output
    assert "3 of 3 rows differ by more than rounding." in done.output


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([3], "The only row agrees."),
        ([4], "The only row differs by more than rounding."),
        ([3, 4], "All 2 rows agree."),
        ([3, 5], "1 of 2 rows differs by more than rounding."),
    ],
)
def test_one_row_is_told_as_one(
    tmp_path: Path, model: Path, values: list[float], verdict: str
) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("text,x,y\n" + "".join(f"a,{k},{3}\n" for k in range(len(values))))
    done = run(model, table, "--against", expected(tmp_path / "p", *values), "--output", "table")

    assert verdict in done.output


NAMED = ("--expected-prediction-columns", "q")
GOOD_ROWS = b"text,x,y\na,1,2\nb,2,3\nc,3,4\n"
GOOD = b"p\n3\n5\n7\n"


@pytest.mark.parametrize(
    ("rows", "given", "words", "code", "place", "told"),
    [
        pytest.param(GOOD_ROWS, b"p\n1\n2\n", (), 2, "--against", "has 2 rows, and TABLE has 3"),
        pytest.param(GOOD_ROWS, b"p\n1\n", (), 2, "--against", "has 1 row, and TABLE has 3"),
        pytest.param(
            GOOD_ROWS, GOOD, NAMED, 1, NAMED[0], "--against has no column 'q'; it has 'p'"
        ),
        pytest.param(GOOD_ROWS, b"row\n0\n1\n2\n", (), 1, "p.csv", "no column of predictions"),
        pytest.param(GOOD_ROWS, b"", (), 1, "p.csv", "Empty CSV file", id="empty"),
        pytest.param(b"", GOOD, (), 1, "rows.csv", "Empty CSV file", id="empty table"),
        pytest.param(GOOD_ROWS, b"p\n", (), 2, "--against", "has 0 rows", id="only a header"),
        pytest.param(b"text,x,y\n", b"p\n", (), 1, "rows.csv", "no rows", id="only headers"),
        pytest.param(
            GOOD_ROWS, "ü\n3\n5\n7\n".encode("latin-1"), (), 1, "p.csv", "save it as UTF-8"
        ),
        pytest.param(
            "ü,text,x,y\n1,a,1,2\n".encode("latin-1"),
            b"p\n3",
            (),
            1,
            "rows.csv",
            "save it as UTF-8",
        ),
        pytest.param(
            GOOD_ROWS, b"\xff\xfep\x00\n\x00\xd8\x00\xd8", (), 1, "p.csv", "UTF-16", id="16"
        ),
        pytest.param(b"\xff\xfex\x00\n", GOOD, (), 1, "rows.csv", "UTF-16", id="cut UTF-16"),
        pytest.param(GOOD_ROWS, b"p,p\n1,2\n", (), 1, "p.csv", "more than once", id="names twice"),
        pytest.param(GOOD_ROWS, b"a,b\n1,2\n3,4\n5,6\n", (), 1, "--against", "has 2 columns; give"),
        pytest.param(GOOD_ROWS, b"a\nx\ny\nz\n", (), 1, "--against", "column 'a' holds text"),
        pytest.param(GOOD_ROWS + b"d,4\n", GOOD, (), 1, "rows.csv", "Expected 3 columns, got 2"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_a_line(
    tmp_path: Path,
    model: Path,
    rows: bytes,
    given: bytes,
    words: tuple[str, ...],
    code: int,
    place: str,
    told: str,
) -> None:
    table, path = tmp_path / "rows.csv", tmp_path / "p.csv"
    table.write_bytes(rows)
    path.write_bytes(given)
    done = run(model, table, "--against", path, *words)

    assert done.exit_code == code, done.output
    assert isinstance(done.exception, SystemExit)
    last = done.output.strip().splitlines()[-1]
    assert place in last
    assert told in last


@pytest.mark.parametrize("is_table", [True, False])
def test_files_at_addresses_are_refused_with_what_to_do(
    tmp_path: Path, model: Path, is_table: bool
) -> None:
    own = comma(tmp_path / "rows.csv") if not is_table else "s3://bucket/rows.csv"
    given = expected(tmp_path / "p.csv", 1, 2, 3) if is_table else "s3://bucket/p.csv"
    done = run(model, own, "--against", given)

    assert done.exit_code == 2
    assert f"{'TABLE' if is_table else '--against'} is an address" in done.output
    assert "--expected-prediction-columns" in done.output


def test_errors_name_the_flag_that_was_given(tmp_path: Path, model: Path) -> None:
    table = comma(tmp_path / "rows.csv")
    own = run(model, table, "--expected-prediction-columns", "text")
    both = run(model, table, "--against", table, "--expected-prediction-columns", "text")

    assert [done.exit_code for done in (own, both)] == [1, 1]
    assert all("--expected-prediction-columns: " in done.output for done in (own, both))


def test_rows_in_another_order_are_refused(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("row,p\n2,9\n0,2.5\n1,1.75\n")
    done = run(model, comma(tmp_path / "rows.csv"), "--against", path)

    assert done.exit_code == 2
    assert "does not count 0, 1, 2" in done.output


def test_nothing_to_compare_with_is_a_usage_error(tmp_path: Path, model: Path) -> None:
    done = run(model, comma(tmp_path / "rows.csv"))

    assert done.exit_code == 2
    assert "--against" in done.output


def test_help_tells_whose_columns_are_meant_and_the_exit_code() -> None:
    words = " ".join(run("--help").output.split())

    assert "of FILE with --against" in words
    assert "exit code 3 where they differ" in words


def test_every_option_of_a_check_has_a_flag() -> None:
    flags = {p.name for p in cli.commands.command("check").params}
    fields = {field.name for field in CheckModelRequest.DESCRIPTOR.fields}

    assert fields - flags == {"output_indices"}, "a command chooses outputs by name"
