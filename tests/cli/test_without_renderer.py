"""Commands where the renderer, an extra of the package, is not installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import json_format
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.report import renderer
from typer.testing import Result

Run = Callable[..., Result]

REFUSED = (
    "onnxplain: error: SVG and PNG pictures need the renderer, which is not installed: "
    "pip install 'onnxplain-server[render]' (RENDERER_MISSING)\n"
)


@pytest.fixture(autouse=True)
def without_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer, "_MODULE", "vl_convert_that_is_not_installed")


@pytest.fixture
def saved(answer: pb.ExplainResponse, tmp_path: Path) -> Path:
    path = tmp_path / "answer.json"
    path.write_text(json_format.MessageToJson(answer))
    return path


@pytest.mark.parametrize(
    "form",
    ["svg", "png"],
)
def test_a_picture_is_refused_and_leaves_no_file(
    run: Run, saved: Path, tmp_path: Path, form: str
) -> None:
    target = tmp_path / "picture"

    result = run("plot", saved, "--format", form, "--name", "overall", "--output-file", target)

    assert (result.exit_code, result.stderr) == (1, REFUSED)
    assert not target.exists()


def test_tables_json_pages_and_specifications_need_none(
    run: Run, saved: Path, model: Path, table: Path
) -> None:
    ask = ("explain", model, table, "--method", "interactions", "--output")

    assert "share" in run(*ask, "table").stdout
    assert run(*ask, "json").stdout.startswith("{")
    assert "<figure" in run(*ask, "html").stdout
    assert "vegaEmbed" in run("plot", saved, "--format", "html", "--name", "overall").stdout
    assert run("plot", saved, "--name", "overall", "--format", "vega-lite").stdout.startswith("{")
