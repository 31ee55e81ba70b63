"""Write the expectations of all cases again: `python tests/conformance/expect.py`."""

import json
import tempfile
from pathlib import Path

from harness import CASES, HERE, PYTHON, ask, kept, serving


def main() -> None:
    """Ask the Python client, and keep what it gets."""
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        found = ask(PYTHON, server, Path(folder), list(CASES))
    for name, case in CASES.items():
        document = {**case, "expected": kept(found[name], case)}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        (HERE / "cases" / f"{name}.json").write_text(text)


if __name__ == "__main__":
    main()
