"""Templates of CI: their scripts run in a shell, with each outcome of the rules."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import yaml
from onnx import TensorProto, helper

CI = Path(__file__).parents[2] / "deploy/ci"
ACTION: dict[str, Any] = yaml.safe_load((CI / "github/action.yml").read_text(encoding="utf-8"))
(GITLAB,) = yaml.safe_load((CI / "gitlab.yml").read_text(encoding="utf-8")).values()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model, a b + a, another one, 4 a b + a, rows, and the kept answer of the first one."""
    path: Path = tmp_path_factory.mktemp("ci")
    for name, factor in (("model", 1.0), ("other", 4.0)):
        value = helper.make_tensor("k", TensorProto.DOUBLE, [1, 1], [factor])
        nodes = [
            helper.make_node("Mul", ["a", "b"], ["ab"]),
            helper.make_node("Mul", ["ab", "k"], ["kab"]),
            helper.make_node("Add", ["a", "kab"], ["y"]),
        ]
        inputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, ["n", 1]) for n in "ab"]
        outputs = [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])]
        graph = helper.make_graph(nodes, "m", inputs, outputs, [value])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(made, path / f"{name}.onnx")
    rows = [f"{k % 7 - 3},{k % 5 - 2}" for k in range(120)]
    (path / "rows.csv").write_text("\n".join(["a,b", *rows]) + "\n", encoding="utf-8")
    command = (sys.executable, "-m", "onnxplain_server", "explain", "model.onnx", "rows.csv")
    flags = ("--method", "interactions", "--replicates", "--no-plots", "--output-file", "kept.json")
    subprocess.run([*command, *flags], cwd=path, check=True, capture_output=True)
    return path


def of_github() -> tuple[str, dict[str, str]]:
    """Return the script of the action, and where each variable of it comes from."""
    (step,) = ACTION["runs"]["steps"]
    assert step["env"] == {name.upper(): f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    return step["run"], {"GITHUB_STEP_SUMMARY": "summary.md"}


def of_gitlab() -> tuple[str, dict[str, str]]:
    assert set(GITLAB["variables"]) == {name.upper() for name in ACTION["inputs"]}
    return "\n".join(GITLAB["script"]), {}


@pytest.mark.parametrize("template", [of_github, of_gitlab])
@pytest.mark.parametrize(
    ("model", "bound", "exit_code"),
    [("model", 0.1, 0), ("other", 0.1, 4), ("other", None, 3)],
    ids=["holds", "fails", "undecided"],
)
def test_each_outcome_ends_a_job(
    folder: Path,
    template: Callable[[], tuple[str, dict[str, str]]],
    model: str,
    bound: float | None,
    exit_code: int,
) -> None:
    """A rule about a statistic that no side has is undecided."""
    kind = "firm_importance" if bound is None else "total_interaction"
    rule = f'[[rule]]\nstatistic = "{kind}"\nmax_change = {bound or 1}\n'
    (folder / "rules.toml").write_text(rule, encoding="utf-8")
    script, own = template()
    tool = folder / "onnxplain"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onnxplain_server "$@"\n')
    tool.chmod(0o755)
    given = {"REFERENCE": "kept.json", "MODEL": f"{model}.onnx", "TABLE": "rows.csv"}
    environment = os.environ | own | given | {"RULES": "rules.toml", "FLAGS": "--leading-count 1"}
    environment["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == exit_code, done.stdout + done.stderr
    assert (folder / "onnxplain-rules.xml").read_text(encoding="utf-8").count("testcase") >= 1
    if own:
        assert "# What has changed" in (folder / "summary.md").read_text(encoding="utf-8")


def test_gitlab_passes_an_undecided_rule_with_a_warning_only() -> None:
    assert GITLAB["allow_failure"] == {"exit_codes": 3}
    assert GITLAB["artifacts"]["reports"]["junit"] == "onnxplain-rules.xml"
