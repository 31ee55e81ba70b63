"""Go client: its README and its example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import onnxplain
import pytest
from harness import ROOT, Server, serving

FILES = ROOT / "conformance" / "files"
MIAMI = ROOT.parent / "examples" / "miami"
FEATURES = [
    "OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold",
]  # fmt: skip

HEAD = """package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

var _, _ = errors.As, fmt.Println
"""
FUNCTION = """
func snippet{number}(
	ctx context.Context, client *onnxplain.Client, response *http.Response, err error,
	token string, vault onnxplain.TokenSource, explanation *onnxplainv1.ExplainResponse,
	model onnxplain.Model, table onnxplain.Table,
) error {{
	{{
{code}
{used}
	}}
	return nil
}}
"""
USED = {1: "_ = explanation", 4: "_ = explanation; _ = err"}
"""What makes variables used that a snippet only declares, by the number of the snippet."""


def found_go() -> str:
    go = shutil.which("go", path=f"{ROOT.parent / '.tools/go/bin'}:{os.environ['PATH']}")
    assert go is not None, "go not found: see tools/go/found.sh"
    return go


def run(client: Path, program: str, *arguments: str | Path, folder: Path | None = None) -> str:
    """Build a program inside the module, run it in a folder, and return what it prints."""
    go = found_go()
    built = client.parents[1] / "build" / "clients" / "go" / "program"
    subprocess.run([go, "build", "-o", built, program], cwd=client, check=True)
    return subprocess.check_output([built, *arguments], cwd=folder, text=True, timeout=600)


@pytest.fixture
def go_client(root: Path) -> Path:
    return root / "clients" / "go"


def test_the_first_lines_of_the_readme_work(
    go_client: Path, server: Server, tmp_path: Path
) -> None:
    text = (go_client / "README.md").read_text()
    found = re.search(r"```go\n(package main.*?)```", text, re.DOTALL)
    assert found is not None
    source = found[1].replace("localhost:8081", f"127.0.0.1:{server.grpc_port}")
    program = tmp_path / "main.go"
    program.write_text(source)
    shutil.copy(ROOT / "models" / "sklearn_random_forest_3class.onnx", tmp_path / "model.onnx")
    lines = (FILES / "iris.csv").read_text().splitlines()
    kept = [",".join(line.split(",")[:5]) for line in lines]
    (tmp_path / "rows.csv.gz").write_text("\n".join(kept) + "\n")

    commands = re.search(r"```sh\n(go mod edit.*?)```", text, re.DOTALL)
    assert commands is not None
    environment = os.environ | {"PATH": f"{Path(found_go()).parent}:{os.environ['PATH']}"}
    install = f"go mod init example.com/first && {commands[1]}go run ."
    printed = subprocess.check_output(
        ["sh", "-ec", install.replace("CHECKOUT", str(go_client.parents[1]))],
        cwd=tmp_path,
        env=environment,
        text=True,
        timeout=600,
    )

    assert re.match(r"\[\w+ \w+\] \[[\d.e-]+ [\d.e-]+ [\d.e-]+\]\n", printed)


def test_the_snippets_of_the_readme_compile(go_client: Path, tmp_path: Path) -> None:
    """Each in a function whose arguments are what the text around it assumes."""
    text = (go_client / "README.md").read_text()
    found = re.findall(r"```go\n(.*?)```", text, re.DOTALL)
    snippets = [code for code in found if "package main" not in code]
    functions = "".join(
        FUNCTION.format(number=number, code=code, used=USED.get(number, ""))
        for number, code in enumerate(snippets)
    )
    program = tmp_path / "main.go"
    program.write_text(f"{HEAD}{functions}\nfunc main() {{}}\n")

    assert len(snippets) == 5
    assert run(go_client, str(program), folder=tmp_path) == ""


def test_the_example_finds_the_strongest_interaction(go_client: Path) -> None:
    table = MIAMI / "miami_housing.csv.gz"
    with serving(max_planned_rows=1e10) as server:
        endpoint = f"127.0.0.1:{server.grpc_port}"
        printed = run(go_client, "./examples/miami", endpoint, MIAMI / "miami.onnx", table)
        with onnxplain.connect(endpoint) as client:
            found = client.explain(
                MIAMI / "miami.onnx", table, onnxplain.Interactions(), feature_columns=FEATURES
            )

    strengths = {each.features: each.numerators[0] ** 0.5 for each in found.interactions.pairwise}
    strongest = max(strengths, key=lambda pair: strengths[pair])
    assert printed == (
        f"{' x '.join(strongest)}: {strengths[strongest]:.4f} in the logarithm of the price\n"
    )
