"""Writes the files of the Helm chart that code and values already tell.

Usage: python -m tools.chart CHART FOLDER

CHART is the folder of the chart; what is made of it goes to FOLDER, which may be the same.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tools.chart import defaults, panels, readme, schema

_DEPLOY = Path(__file__).parents[2] / "deploy"

# A chart reads files of its own only.
_DASHBOARD = _DEPLOY / "grafana" / "onnxplain.json"
_COPIED = (_DEPLOY / "prometheus" / "alerts.yaml", _DASHBOARD)

# What `helm test` explains.
_FLOWERS = _DEPLOY.parent / "examples" / "iris"


def main(chart: Path, folder: Path) -> None:
    """Write panels, the schema of the values, defaults of the settings, copies, and the README."""
    panels.write(_DASHBOARD)
    values = (chart / "values.yaml").read_text(encoding="utf-8")
    written = {
        "values.schema.json": schema.with_settings((chart / "values.schema.json").read_text()),
        "templates/_defaults.tpl": defaults.template(),
        **{f"files/{path.name}": path.read_text(encoding="utf-8") for path in _COPIED},
        "README.md": readme.page((chart / "README.md").read_text(encoding="utf-8"), values),
    }
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    example = folder / "files" / "example"
    example.mkdir(exist_ok=True)
    shutil.copyfile(_FLOWERS / "linear.onnx", example / "model.onnx")
    lines = (_FLOWERS / "iris.csv").read_text(encoding="utf-8").splitlines()
    (example / "table.csv").write_text("\n".join(lines[::10]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
