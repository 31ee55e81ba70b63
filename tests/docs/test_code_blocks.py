"""Code blocks of the documents run as written, or `code_blocks.toml` says why not."""

from __future__ import annotations

import base64
import fnmatch
import gzip
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from harness import Server, serving
from onnx import TensorProto, helper, numpy_helper, parser
from onnxplain_server.config.loading import load
from pyarrow import csv, parquet

ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "code_blocks.toml").read_text())
PAGES = sorted(
    [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "clients").glob("*/README.md"),
    ]
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = "text"
"""Language of blocks that show formulas or what a program prints."""
RUN_HERE = ("sh", "python")
HERE = "tests/docs/test_code_blocks.py::test_blocks_of_a_page_run_as_written"


@dataclass(frozen=True)
class Block:
    """A code block: its page, relative to the checkout, its language and its code."""

    page: str
    language: str
    code: str

    @property
    def entries(self) -> list[Mapping[str, str]]:
        """Entries of the table that are about this block."""
        return [entry for entry in TABLE["block"] if self._is_of(entry)]

    @property
    def runs_here(self) -> bool:
        """Whether the tests of this file run it."""
        entries = self.entries
        if entries:
            return entries[0].get("test") == HERE
        return self.language in RUN_HERE and not self.page.startswith("clients")

    def _is_of(self, entry: Mapping[str, str]) -> bool:
        return (
            fnmatch.fnmatch(self.page, entry["page"])
            and self.code.startswith(entry["begins"])
            and entry.get("language", self.language) == self.language
        )


def blocks(page: Path) -> list[Block]:
    name = page.relative_to(ROOT).as_posix()
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(name, language, code) for language, code in found if language != OUTPUT]


ALL = [block for page in PAGES if "/docs/site/" not in page.as_posix() for block in blocks(page)]
PAGES_RUN_HERE = sorted({block.page for block in ALL if block.runs_here})


def test_every_block_is_run_or_has_a_reason() -> None:
    unknown = [
        f"{block.page}: {block.code.splitlines()[0]}"
        for block in ALL
        if not block.entries and not block.runs_here
    ]
    assert unknown == []


def test_no_block_is_listed_in_vain() -> None:
    used = [entry for block in ALL for entry in block.entries[:1]]
    assert [entry for entry in TABLE["block"] if entry not in used] == []
    assert set(TABLE["given"]) <= set(PAGES_RUN_HERE)


@pytest.mark.parametrize("entry", [entry for entry in TABLE["block"] if "test" in entry])
def test_the_test_that_runs_a_block_exists(entry: Mapping[str, str]) -> None:
    file, _, name = entry["test"].partition("::")
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8") if name else True
    assert (ROOT / file).exists()
    assert "reason" not in entry


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as pages assume it: the examples, the table of the demo, and files of one's own."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / ".demo").mkdir()
    packed = (ROOT / "examples/miami/miami_housing.csv.gz").read_bytes()
    # A part of the rows: pages are run to see that they work.
    lines = gzip.decompress(packed).splitlines(keepends=True)
    (tmp_path / ".demo/miami_housing.csv").write_bytes(b"".join(lines[:1] + lines[1::20]))
    write_files(tmp_path)
    # What `curl -s` hides: an answer that is an error.
    (tmp_path / ".curlrc").write_text("fail-with-body\n")
    return tmp_path


def write_files(folder: Path) -> None:
    """Write files of one's own: model.onnx, a model of age and bmi, rows.csv and others."""
    float_ = TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(name, float_, ["N", 1]) for name in ("age", "bmi")]
    output = helper.make_tensor_value_info("charges", float_, ["N", 1])
    graph = helper.make_graph(
        [helper.make_node("Mul", ["age", "bmi"], ["charges"])], "m", inputs, [output]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    generator = np.random.default_rng(0)
    age, bmi = generator.integers(18, 80, 60), generator.uniform(18, 40, 60).round(1)
    y = (age * bmi + 1).round(1)
    header = "age,bmi,price,charges,y,predicted"
    rows = [f"{a},{b},{c},{c},{c},{a * b}" for a, b, c in zip(age, bmi, y, strict=True)]
    text = "\n".join([header, *rows]) + "\n"
    (folder / "rows.csv").write_text(text)
    (folder / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    parquet.write_table(csv.read_csv(folder / "rows.csv"), folder / "rows.parquet")
    write_classifier(folder)
    write_network(folder)
    write_ranker(folder)


def write_network(folder: Path) -> None:
    """Write network.onnx, which takes a column of text and a matrix of three, and rents.csv."""
    graph = parser.parse_graph(
        """network (string[N, 1] city, float[N, 3] num) => (float[N, 1] rent) {
            level = ai.onnx.ml.LabelEncoder <keys_strings=["Bern","Chur"], values_floats=[2.0,1.0]>
                (city)
            total = ReduceSum <keepdims=1> (num, axis)
            rent = Add (level, total)
        }"""
    )
    graph.initializer.append(numpy_helper.from_array(np.array([1]), "axis"))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "network.onnx")
    rows = [f"{('Bern', 'Chur')[k % 2]},{20 + k},{30 + 7 * k % 11},{k % 5}" for k in range(40)]
    (folder / "rents.csv").write_text("\n".join(["city,age,income,dose", *rows]) + "\n")


def write_ranker(folder: Path) -> None:
    """Write ranker.onnx, a score of two features, and documents.csv, with queries of five rows."""
    graph = parser.parse_graph(
        """ranker (float[N, 1] match, float[N, 1] clicks) => (float[N, 1] score) {
            score = Add (match, clicks)
        }"""
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "ranker.onnx")
    rows = [f"{k // 5},{7 * k % 11},{k % 3},{k % 4}" for k in range(40)]
    (folder / "documents.csv").write_text("\n".join(["query,match,clicks,relevance", *rows]) + "\n")


def write_classifier(folder: Path) -> None:
    """Write income.onnx, which gives the probabilities of two classes, and people.csv."""
    model = onnx.load(ROOT / "tests/models/sklearn_logistic_binary.onnx")
    case = json.loads((ROOT / "tests/models/sklearn_logistic_binary.json").read_text())
    onnx.save(model, folder / "income.onnx")
    columns = case["columns"] | {
        "income": [(">50K", "<=50K")[k % 2] for k in range(len(case["response"]))]
    }
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (folder / "people.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_RUN_HERE)
def test_blocks_of_a_page_run_as_written(
    page: str, folder: Path, server: Server, program: Callable[[str], str]
) -> None:
    if any("curl" in block.code for block in ALL if block.page == page):
        program("curl")
    for block in ALL:
        if block.page == page and block.runs_here:
            run(block, folder, server)


def run(block: Block, folder: Path, server: Server) -> None:
    """Run a block in an activated environment; its server listens on other ports."""
    code = block.code.replace("localhost:8080", f"127.0.0.1:{server.rest_port}")
    code = code.replace("localhost:8081", f"127.0.0.1:{server.grpc_port}")
    command = ["bash", "-euo", "pipefail", "-c", code]
    if block.language == "python":
        given = TABLE["given"].get(block.page, "")
        command = [sys.executable, "-W", "error", "-c", f"{given}\n{code}"]
    done = subprocess.run(
        command, cwd=folder, env=activated(folder), check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{block.page}:\n{block.code}\n{done.stdout}{done.stderr}"


def activated(folder: Path) -> dict[str, str]:
    """Environment of a shell in which this environment is activated."""
    environment = Path(sys.executable).parent
    (folder / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    (folder / ".venv" / "bin" / "activate").write_text("")  # activated already
    path = f"{environment}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "CURL_HOME": str(folder)}


@pytest.mark.slow
def test_the_demo_runs() -> None:
    done = subprocess.run(["make", "demo"], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (ROOT / ".demo/report.html").exists()
    assert (ROOT / ".demo/miami_housing.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        block
        for block in ALL
        if any("commands_that_serve" in each.get("test", "") for each in block.entries)
    ],
    ids=lambda block: block.page,
)
def test_commands_that_serve_listen(block: Block, tmp_path: Path) -> None:
    """On free ports, and with a file of tokens that is there."""
    tokens = tmp_path / "tokens"
    made = subprocess.run(
        [sys.executable, "-m", "onnxplain_server", "token", "ann"],
        check=True,
        capture_output=True,
        text=True,
    )
    tokens.write_text(made.stdout.splitlines()[1] + "\n")
    words = block.code.partition("#")[0].split()[1:]
    flags = [str(tokens) if word == "/etc/onnxplain/tokens" else word for word in words]
    flags = re.sub(r"\b808[0-2]\b", "0", " ".join(flags)).split()

    assert started(flags)


def started(flags: Sequence[str]) -> bool:
    """Start a server, and tell whether it listens."""
    free = [f"--{name}-port=0" for name in ("rest", "grpc", "metrics")]
    with subprocess.Popen(
        [sys.executable, "-m", "onnxplain_server", *flags, *free],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        listens = any("gRPC on" in line for line in process.stderr)
        process.terminate()
        process.stderr.read()
    return listens


def test_the_configuration_file_is_valid(tmp_path: Path) -> None:
    (block,) = (block for block in ALL if block.page == "docs/settings.md")
    secret = tmp_path / "cache"
    secret.write_text("0123456789abcdef")
    file = tmp_path / "onnxplain.toml"
    file.write_text(block.code.replace("/run/secrets/cache", str(secret)))

    settings = load({"config_file": str(file)})

    assert (settings.rest_port, settings.cache_bytes) == (8080, 512 * 2**20)


@pytest.mark.slow
def test_bodies_of_rest_are_valid_json(folder: Path, server: Server) -> None:
    """The request is answered, and the problem is what comes for a wrong name."""
    request, shown = (
        json.loads(block.code)
        for block in ALL
        if block.page == "docs/surfaces/rest.md" and block.language == "json"
    )
    content = base64.b64encode((folder / "model.onnx").read_bytes()).decode()
    request["model"]["content"] = content

    assert posted(server, request)["explanations"]
    request["methods"] = [{"interactions": {"features": ["heigth", "bmi"]}}]
    problem = posted(server, request)

    changing = {"request_id"}
    assert problem.keys() == shown.keys()
    assert problem | dict.fromkeys(changing) == shown | dict.fromkeys(changing)


def posted(server: Server, document: Mapping[str, Any]) -> dict[str, Any]:
    url = f"http://127.0.0.1:{server.rest_port}/v1/explanations"
    body = json.dumps(document).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own server
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        return dict(json.load(error))
