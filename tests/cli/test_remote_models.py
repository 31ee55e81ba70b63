"""Commands on models behind addresses."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from onnxplain.v1.model_pb2 import RemoteModel
from onnxplain_server import cli
from onnxplain_server.__main__ import _cache, _local_sources, _runner
from typer.testing import CliRunner, Result

from tools.stores.model_server import NAME, ServedModel, of_function, serving

NAMES = ("a", "b", "c")
FLAGS = ("--remote-protocol", "oip-rest", "--remote-name", NAME)


@pytest.fixture
def served() -> ServedModel:
    return of_function(lambda a, b, c: a * b + c, NAMES)


@pytest.fixture
def url(served: ServedModel) -> Iterator[str]:
    with serving(served) as server:
        yield server.url


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    values = np.random.default_rng(1).normal(size=(30, 3))
    path.write_text("\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in values)]))
    return path


def command(*words: str | Path) -> Result:
    """Run a command as a user does, in this process."""
    parts = cli.ServiceParts(_runner, _cache, print, _local_sources)
    return CliRunner().invoke(cli.app, [str(word) for word in words], obj=parts)


def test_a_remote_model_is_explained_on_a_file(url: str, rows: Path, served: ServedModel) -> None:
    done = command("explain", url, rows, *FLAGS, "--method", "interactions", "--output", "json")

    assert done.exit_code == 0, done.output
    receipt = json.loads(done.stdout)["receipt"]
    assert receipt["remoteModel"]["uri"] == url
    assert receipt["predictedRowCount"] == served.row_count


def test_a_table_in_blocks_gives_a_sample(url: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    values = np.random.default_rng(1).normal(size=(3_000, 3))
    path.write_text("\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in values)]))
    words = ("--method", "partial_dependence", "--row-count", "50", "--memory-bytes", "1000")

    done = command("explain", url, path, *FLAGS, *words, "--output", "json")

    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert "TABLE_STREAMED" in {warning["code"] for warning in answer["warnings"]}
    assert answer["receipt"]["remoteModel"]["uri"] == url


def test_a_table_tells_which_model_was_asked(url: str, rows: Path) -> None:
    done = command("explain", url, rows, *FLAGS, "--method", "interactions", "--output", "table")

    assert "behind an address" in " ".join(done.stdout.split())


def test_a_remote_model_is_described_and_planned(url: str, rows: Path) -> None:
    described = command("describe", url, *FLAGS)
    planned = command("plan", url, rows, *FLAGS, "--method", "interactions", "--json")

    assert json.loads(described.stdout)["model"]["featureNames"] == list(NAMES)
    assert json.loads(planned.stdout)["predictedRowCount"] > 0


def test_flags_are_the_fields_of_the_contract(
    run: Callable[..., Result], parts, table: Path
) -> None:
    done = run(
        *("explain", "http://h:1", table, "--remote-protocol", "KSERVE_V1", "--remote-name", "m"),
        *("--remote-version", "2", "--remote-inputs", "age:int64,plan:string,income"),
        *("--remote-output", "scores", "--remote-output-names", "stays,leaves"),
        *("--remote-identity", "of May"),
    )

    assert done.exit_code == 0, done.output
    assert parts.request.model.remote == RemoteModel(
        uri="http://h:1",
        protocol="KSERVE_V1",
        name="m",
        version="2",
        inputs=[
            {"name": "age", "type": "int64"},
            {"name": "plan", "type": "string"},
            {"name": "income"},
        ],
        output="scores",
        output_names=["stays", "leaves"],
        identity="of May",
    )
    assert parts.request.model_name == "m"


def test_one_input_takes_all_columns(run: Callable[..., Result], parts, table: Path) -> None:
    run(
        *("explain", "http://h:1", table, "--remote-protocol", "oip-rest", "--remote-name", "m"),
        *("--remote-inputs", "age:float,income:float", "--remote-matrix", "x"),
    )

    (found,) = parts.request.model.remote.inputs
    assert (found.name, found.type, list(found.columns)) == ("x", "float", ["age", "income"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--remote-name", "m"], "--remote-name needs --remote-protocol"),
        (["--remote-protocol", "soap"], "'soap' is not one of oip-rest, oip-grpc"),
        (
            ["--remote-protocol", "mlflow", "--remote-inputs", "a:int64,b", "--remote-matrix", "x"],
            "--remote-matrix",
        ),
    ],
)
def test_flags_that_tell_too_little_are_refused(
    run: Callable[..., Result], table: Path, words: list[str], said: str
) -> None:
    done = run("explain", "http://h:1", table, *words)

    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_an_address_that_nobody_serves_is_told(rows: Path) -> None:
    with serving(of_function(lambda a: a, ("a",))) as server:
        url = server.url

    done = command("explain", f"{url}/nothing", rows, *FLAGS, "--timeout", "2")

    assert done.exit_code == 1
    assert "error: " in done.stderr
