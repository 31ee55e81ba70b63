"""Writes the files of the Helm chart that code and values already tell.

Usage: python -m tools.chart CHART FOLDER

CHART is the folder of the chart; what is made of it goes to FOLDER, which may be the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.chart import defaults, readme, schema


def main(chart: Path, folder: Path) -> None:
    """Write the schema of the values, the defaults of the settings, and the README."""
    values = (chart / "values.yaml").read_text(encoding="utf-8")
    written = {
        "values.schema.json": schema.with_settings((chart / "values.schema.json").read_text()),
        "templates/_defaults.tpl": defaults.template(),
        "README.md": readme.page((chart / "README.md").read_text(encoding="utf-8"), values),
    }
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
