"""Bad input is refused by a message that names the input and the rule, and nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.cli import ServiceParts, app
from typer.testing import CliRunner

GOOD = "a,b,w\n1,2,1\n3,5,1\n4,1,2\n"


def model(operator: str = "Mul", domain: str = "") -> bytes:
    """Two columns in, their product out; or another operator in its place."""
    nodes = [
        helper.make_node("Split", ["X"], ["a", "b"], axis=1, num_outputs=2),
        helper.make_node(operator, ["a", "b"], ["Y"], domain=domain),
    ]
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 18)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    made: onnx.ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    content: bytes = made.SerializeToString()
    return content


CASES = [
    # content of the model, of the table, further arguments, the reason, words of the message
    pytest.param(b"no model", GOOD, [], "INVALID_MODEL", ["ONNX"], id="not ONNX"),
    pytest.param(model()[:-40], GOOD, [], "INVALID_MODEL", ["ONNX"], id="truncated"),
    pytest.param(
        model("Multiply"), GOOD, [], "UNSUPPORTED_MODEL", ["Multiply"], id="unknown operator"
    ),
    pytest.param(
        model("Mul", "acme"), GOOD, [], "UNSUPPORTED_MODEL", ["acme"], id="unknown domain"
    ),
    pytest.param(
        model(), "a,w\n1,2\n2,3\n", [], "MISSING_COLUMN", ["2 columns"], id="missing column"
    ),
    pytest.param(
        model(), GOOD, ["--target-column", "y"], "MISSING_COLUMN", ["'y'"], id="missing target"
    ),
    pytest.param(
        model(), "a,b,w\n1,x,1\n2,y,1\n", [], "WRONG_TYPE", ["'b'", "text"], id="wrong type"
    ),
    pytest.param(model(), "a,b,w\n", [], "EMPTY_TABLE", ["0 rows"], id="empty table"),
    pytest.param(model(), "a,b,w\n1,2,1\n", [], "EMPTY_TABLE", ["at least 2"], id="one row"),
    pytest.param(model(), "", [], "INVALID_TABLE", ["csv"], id="no table at all"),
    pytest.param(
        model(), "a,b,w\n1,,1\n2,,1\n", [], "INVALID_TABLE", ["'b'", "no value"], id="all missing"
    ),
    pytest.param(
        model(),
        "a,b,w\n1,2,-1\n2,3,1\n",
        [],
        "INVALID_WEIGHTS",
        ["'w'", "-1"],
        id="negative weight",
    ),
    pytest.param(
        model(), "a,b,w\n1,2,0\n2,3,0\n", [], "INVALID_WEIGHTS", ["'w'", "0"], id="weights all zero"
    ),
    pytest.param(
        model(), "a,b,w\n1,2,\n2,3,1\n", [], "INVALID_WEIGHTS", ["'w'", "finite"], id="no weight"
    ),
    pytest.param(
        model(),
        GOOD,
        ["--set", 'features=["a","c"]'],
        "UNKNOWN_FEATURE",
        ["'c'", "'a', 'b'"],
        id="unknown feature",
    ),
    pytest.param(
        model(),
        GOOD,
        ["--set", "pairwise_feature_count=-1"],
        "INVALID_OPTION",
        ["pairwise_feature_count", "[0, 100]"],
        id="impossible option",
    ),
    pytest.param(
        model(), GOOD, ["--row-count", "1"], "INVALID_OPTION", ["--row-count"], id="too few rows"
    ),
    pytest.param(
        model(), GOOD, ["--output-indices", "3"], "INVALID_OPTION", ["[0, 0]"], id="no such output"
    ),
    pytest.param(
        model(),
        GOOD,
        ["--scale", "MARGIN"],
        "MARGIN_UNAVAILABLE",
        ["additive"],
        id="no margin",
    ),
    pytest.param(
        model("Div"),
        "a,b,w\n1,2,1\n3,0,1\n4,1,1\n",
        [],
        "NON_FINITE_PREDICTION",
        ["row 1", "not finite"],
        id="predictions not finite",
    ),
]


@pytest.fixture
def explain(tmp_path: Path) -> Callable[[bytes, str, list[str]], tuple[int, str, str]]:
    """Run the command on such files: exit code, standard output and error."""

    def run(content: bytes, table: str, arguments: list[str]) -> tuple[int, str, str]:
        (tmp_path / "model.onnx").write_bytes(content)
        (tmp_path / "table.csv").write_text(table)
        files = [str(tmp_path / "model.onnx"), str(tmp_path / "table.csv")]
        method = ["--method", "interactions", *arguments, "--weight-column", "w"]
        runner = InProcess(threads=1)
        parts = ServiceParts(
            lambda _workers: runner, lambda: MemoryCache(2**20, Signer(b"s" * 32)), print
        )
        done = CliRunner().invoke(app, ["explain", *files, *method], obj=parts)
        runner.close()
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.mark.parametrize(("content", "table", "arguments", "reason", "words"), CASES)
def test_is_refused_by_a_last_line_that_says_why(
    explain: Callable[..., tuple[int, str, str]],
    content: bytes,
    table: str,
    arguments: list[str],
    reason: str,
    words: list[str],
) -> None:
    code, out, error = explain(content, table, arguments)

    *details, last = error.splitlines()
    assert (code, out) == (1, "")
    assert len(details) <= 1
    assert last.startswith("onnxplain: error: ")
    assert last.endswith(f"({reason})")
    assert len(last) < 350
    assert all(word in error for word in words), error


def test_a_constant_column_is_explained_with_a_warning(
    explain: Callable[..., tuple[int, str, str]],
) -> None:
    code, out, _ = explain(model(), "a,b,w\n1,2,1\n3,2,1\n4,2,1\n", ["--output", "table"])

    assert code == 0
    assert "Constant in this table" in out


def test_an_output_file_keeps_what_it_had_when_the_answer_fails(
    explain: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    kept = tmp_path / "answer.json"
    kept.write_text("what was there")

    code, _, _ = explain(b"no model", GOOD, ["--output-file", str(kept)])

    assert code == 1
    assert kept.read_text() == "what was there"


def test_the_good_case_is_good(explain: Callable[..., tuple[int, str, str]]) -> None:
    """Else the refusals above might have another cause."""
    code, out, _ = explain(model(), GOOD, [])

    assert code == 0
    assert "pairwise" in out
