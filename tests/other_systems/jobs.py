"""Uses the package as on a laptop of another system; writes, per job, how it failed.

Run as `python -X warn_default_encoding jobs.py SYSTEM FOLDER [JOB ...]`, in a process of its own.
With "here" as system, it takes nothing away: it tries the installed packages on the system that it
runs on, and fails where a job does.
"""

# ruff: noqa: PLC0415 - imported once this process lacks something
from __future__ import annotations

import contextlib
import importlib
import io
import json
import pkgutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MODELS = Path(__file__).parents[1] / "models"
FOREST = MODELS / "sklearn_random_forest_binary.onnx"
NETWORK = MODELS / "sklearn_network_binary.onnx"
FEATURES = [f"c{j}" for j in range(8)]

NATIVE = {
    MODELS / "native/xgboost/3.4.1/classes.ubj": "classes",
    MODELS / "native/lightgbm/4.6.0/regression.txt": "regression predicts",
    MODELS / "native/lightgbm/4.6.0/huber.json": "huber predicts",
    MODELS / "native/catboost/1.2.10/classes.json": "classes",
}
"""Files of tree libraries, and where `answers.json` beside them has the library's predictions."""


def _method_names() -> tuple[str, ...]:
    """Return the names of all methods, as the package lists them; it is not imported yet."""
    found = find_spec("onnxplain_server")
    assert found is not None
    assert found.origin is not None
    listed = Path(found.origin).with_name("cli") / "method_options.json"
    return tuple(json.loads(listed.read_text(encoding="utf-8"))["methods"])


METHODS = _method_names()
OPTIONS = {"feature_vectors": ("--set", "source=SURROGATE", "--set", "sentence_count=100")}
WITHOUT_MODEL = {"firm"}

PACKAGE = "onnxplain_server.adapters."
OF_LINUX = (
    *("workers.", "programs.", "sandbox.", "network_processes.", "remote_server.", "cluster."),
    *("sources.fetch", "sources.range_session", "sources.source_list"),
)
"""Beginnings of modules that confine, or ask, processes of Linux."""

FOREIGN = (
    *("cryptography.x509", "flask", "google.protobuf.json_format", "grpc", "grpc_health.v1.health"),
    *("grpc_reflection.v1alpha.reflection", "jinja2", "jwt", "llvmlite.binding", "numba", "numpy"),
    *("onnx", "onnxruntime", "orjson", "pandas", "prometheus_client", "pyarrow.parquet"),
    *("pyarrow.csv", "pydantic_settings", "redis", "rich.console", "rich.table", "scipy.linalg"),
    *("scipy.optimize", "scipy.sparse", "scipy.stats", "skl2onnx", "sklearn.decomposition"),
    *("sklearn.ensemble", "typer", "typer.testing", "urllib3", "vl_convert", "waitress"),
    *(
        "dask",
        "distributed",
        "multiprocessing",
        "webbrowser",
        "grpc_status.rpc_status",
        "flask_swagger_ui",
        "IPython.core.interactiveshell",
        "sqlite3",
    ),
)

Job = Callable[[Path], object]


def table_of(folder: Path) -> Path:
    """Write the table that the jobs explain on."""
    rows = [[str((7 * i + j * i * i) % 23) for j in range(8)] + [str(i % 2)] for i in range(60)]
    path = folder / "rows of today, größer.csv"
    lines = [",".join([*FEATURES, "label"]), *map(",".join, rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def as_powershell(path: Path, rows: Iterable[Iterable[object]]) -> Path:
    """Write CSV as PowerShell 5 does: UTF-16 with a byte order mark, and CRLF; return the path."""
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("utf-16"))
    return path


def run(*words: object) -> bytes:
    """Run a command of the command line in this process, with a console of Windows."""
    from onnxplain_server.__main__ import main

    written = io.BytesIO()
    console = io.TextIOWrapper(written, encoding="cp1252", errors="strict")
    arguments, sys.argv = sys.argv, ["onnxplain", *map(str, words)]
    try:
        with contextlib.redirect_stdout(console):
            main()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"{words[0]} ended with {ended.code}") from None
    finally:
        sys.argv = arguments
        console.flush()
    return written.getvalue()


ASKED = ("--feature-columns", ",".join(FEATURES), "--target-column", "label")


def imports(_table: Path) -> None:
    """Import all modules but those that say that they are of Linux."""
    import onnxplain
    import onnxplain_server

    for package in (onnxplain, onnxplain_server):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                importlib.import_module(found.name)
            except ImportError:
                if not found.name.removeprefix(PACKAGE).startswith(OF_LINUX):
                    raise


def is_unconfined() -> bool:
    from onnxplain_server.core.systems.confinement import can_confine

    return not can_confine()


def overview(table: Path) -> None:
    answer = json.loads(run("explain", FOREST, table, *ASKED))
    assert answer["explanations"]
    codes = [warning["code"] for warning in answer["warnings"]]
    assert codes.count("UNCONFINED") == is_unconfined()
    assert run("explain", NETWORK, table, *ASKED, "--output", "table")


def method(name: str, table: Path) -> None:
    """Explain by trees, and by predicting."""
    for model in [()] if name in WITHOUT_MODEL else [(FOREST,), (NETWORK,)]:
        asked = ("--method", name, *OPTIONS.get(name, ()))
        answer = run("explain", *model, table, *ASKED, *asked)
        (table.parent / "answer.json").write_bytes(answer)
        assert len(json.loads(answer)["explanations"]) == 1


def plan(table: Path) -> None:
    assert json.loads(run("plan", FOREST, table, *ASKED, "--json"))
    assert run("plan", NETWORK, table, *ASKED)


def two_files(table: Path) -> None:
    """Explain a network whose weights lie in a folder beside it."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(NETWORK)
    for tensor in model.graph.initializer:  # in bytes, which alone can lie elsewhere
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    whole, cut = (table.parent / folder / "network.onnx" for folder in ("whole", "größer"))
    weights = cut.parent / "weights" / "w.data"
    for folder in (whole.parent, weights.parent):
        folder.mkdir(parents=True)
    onnx.save(model, whole)
    onnx.save(model, cut, save_as_external_data=True, location="weights/w.data", size_threshold=0)
    of_one, of_two = (
        json.loads(run("explain", path, table, *ASKED, "--method", "partial_dependence"))
        for path in (whole, cut)
    )
    assert of_one["explanations"] == of_two["explanations"]
    assert of_one["receipt"]["modelDigest"] == of_two["receipt"]["modelDigest"]
    weights.unlink()
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.suppress(RuntimeError):
        run("describe", cut)
        raise AssertionError("it misses no file")
    assert "weights/w.data" in told.getvalue()


def check(table: Path) -> None:
    """Compare predictions that PowerShell kept, and others, on which the exit code tells."""
    rows = [line.split(",") for line in run(*_predicting(table)).decode().splitlines()]
    kept = as_powershell(table.parent / "kept.csv", rows)
    asked = ("check", FOREST, table, *ASKED[:2], "--against", kept)
    assert json.loads(run(*asked))["comparison"]["agrees"]
    as_powershell(kept, [rows[0], *([row[0], *row[:0:-1]] for row in rows[1:])])
    with contextlib.suppress(RuntimeError):
        run(*asked, "--output", "table")
        raise AssertionError("others agree, too")


def compare(table: Path) -> None:
    """Make a kept answer again, and compare it with that of other rows."""
    kept = table.parent / "answer of today.json"
    run("explain", FOREST, table, *ASKED, "--method", "average_loss", "--replicates",
        "--output", "json", "--output-file", kept)  # fmt: skip
    assert json.loads(run("replay", kept, "--model", FOREST, "--table", table))["isSame"]
    compared = json.loads(run("compare", kept, FOREST, "--table", table, *ASKED))
    assert {each["verdict"] for each in compared["differences"]} == {"NOT_SHOWN"}


def watch(table: Path) -> None:
    """Keep an answer, and compare the next one with it; write metrics."""
    metrics = table.parent / "metrics of today.prom"
    asked = (FOREST, table, *ASKED, "--method", "average_loss", "--metrics-file", metrics)
    for day in (1, 2):
        kept = ("--folder", table.parent / "größer history", "--keep", 1)
        run("watch", *asked, *kept, "--at", f"2026-12-0{day}T06:00:00Z")
    (path,) = (table.parent / "größer history").iterdir()
    assert path.name == "20261202T060000Z.json"
    assert b"onnxplain_watch_changed_statistics" in metrics.read_bytes()


def native(table: Path) -> None:
    """Compare files of tree libraries with what these predict, and explain them; CRLF in texts."""
    names = FEATURES[:4]
    for model, name in NATIVE.items():
        answers = json.loads(model.with_name("answers.json").read_text(encoding="utf-8"))
        given, expected = [row[: len(names)] for row in answers["rows"]], answers[name]
        rows = as_powershell(table.parent / "rows.csv", [names, *given])
        outputs = [f"y{k}" for k in range(len(expected[0]))]
        kept = as_powershell(table.parent / "expected.csv", [outputs, *expected])
        copied = table.parent / f"größer {model.name}"
        content = model.read_bytes()
        is_text = model.suffix != ".ubj"
        copied.write_bytes(content.replace(b"\n", b"\r\n") if is_text else content)
        asked = (copied, rows, "--feature-columns", ",".join(names))
        assert json.loads(run("check", *asked, "--against", kept))["comparison"]["agrees"]
        assert json.loads(run("explain", *asked, "--method", "attributions"))["explanations"]


def fitted(table: Path) -> None:
    """Explain fitted models of scikit-learn, which the client writes as ONNX files."""
    import onnxplain
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest

    rows = pd.read_csv(table)
    features, label = rows[FEATURES], rows["label"]
    for model in (HistGradientBoostingClassifier(max_iter=5), IsolationForest(n_estimators=5)):
        with onnxplain.local() as client:
            asked = onnxplain.PartialDependence(features=["c0"])
            assert client.explain(model.fit(features, label), features, asked).receipt


def plot(table: Path) -> None:
    page = table.parent / "report.html"
    run("plot", table.parent / "answer.json", "--format", "html", "--output-file", page)
    assert page.read_bytes().lower().startswith(b"<!doctype html>")


def predict(table: Path) -> None:
    assert len(run(*_predicting(table)).splitlines()) > 1


def _predicting(table: Path) -> tuple[object, ...]:
    return "predict", FOREST, table, *ASKED[:2], "--output", "csv"


def describe(table: Path) -> None:
    assert json.loads(run("describe", FOREST))
    assert json.loads(run("describe", table))


def options(_table: Path) -> None:
    for name in METHODS:
        assert run("options", name)


def own_words(_table: Path) -> None:
    """Print what the command line knows without a model."""
    assert run("version").strip()
    assert run("settings")
    assert len(run("token", "someone").splitlines()) == 2


def demo(table: Path) -> None:
    run("demo", "--folder", table.parent / "demo")
    assert (table.parent / "demo/report.html").read_bytes()


def in_blocks(table: Path) -> None:
    from onnxplain_server.adapters.runner.blocks.block_files import open_rows

    rows = open_rows(table)
    batches = list(rows.batches(0, 5, ["c1"]))
    del rows
    assert sum(len(batch) for batch in batches) == 5


def local(table: Path) -> None:
    import onnxplain

    with onnxplain.local() as client:
        asked = onnxplain.PartialDependence(features=["c0"])
        found = client.explain(NETWORK, table, asked, feature_columns=FEATURES)
        assert found._repr_html_()


def notebook(table: Path) -> None:
    """Show a result in a cell, as a notebook asks for it."""
    from IPython.core.interactiveshell import InteractiveShell

    asked = f"{str(NETWORK)!r}, {str(table)!r}, onnxplain.PartialDependence(features=['c0'])"
    cells = (
        "import onnxplain",
        "client = onnxplain.local()",
        f"found = client.explain({asked}, feature_columns={FEATURES})",
        "client.close()",
    )
    shell: Any = InteractiveShell(ipython_dir=str(table.parent))
    for cell in cells:
        shell.run_cell(cell).raise_error()
    shown, _ = shell.display_formatter.format(shell.user_ns["found"])
    assert shown["text/html"]


def ask_a_server(endpoint: str, token: str, table: Path) -> None:
    """Ask a server by commands."""
    assert b"SERVING" in run("health", "--endpoint", endpoint)
    file = table.parent / "token"
    file.write_text(f"{token}\n", encoding="utf-8")
    to_server = ("--endpoint", endpoint, "--token-file", file)
    assert json.loads(run("describe", FOREST, *to_server))
    assert json.loads(run("explain", FOREST, table, *ASKED, *to_server))["explanations"]


PORTS = ("--rest-port", 0, "--grpc-port", 0, "--metrics-port", 0)


def ui(table: Path) -> None:
    from onnxplain_server.cli import ui as command
    from onnxplain_server.cli.commands import command as imported

    imported("ui")
    opened = command._open

    def open_and_end(*arguments: Any, **named: Any) -> None:
        opened(*arguments, **named)
        *_, token, _rest_port, grpc_port = arguments
        ask_a_server(f"127.0.0.1:{grpc_port}", token, table)
        signal.raise_signal(signal.SIGINT)

    command._open = open_and_end
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        assert b"onnxplain is at http://127.0.0.1:" in run("ui", FOREST, table, "--no-browser")
    assert told.getvalue().count("this system cannot confine models") == is_unconfined()


def serve(_table: Path) -> None:
    """Serve nobody without confinement, unless told to."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.suppress(RuntimeError):
        run("serve", *PORTS)
        raise AssertionError("it does not refuse")
    assert "this system cannot confine models" in told.getvalue()
    way = "it lacks " if sys.platform == "linux" else "WSL 2"
    assert way in told.getvalue()


JOBS: dict[str, Job] = {
    "imports": imports,
    "overview": overview,
    **{name: partial(method, name) for name in METHODS},
    "plot": plot,
    "plan": plan,
    "predict": predict,
    "check": check,
    "compare": compare,
    "watch": watch,
    "native": native,
    "two_files": two_files,
    "fitted": fitted,
    "describe": describe,
    "options": options,
    "own_words": own_words,
    "demo": demo,
    "in_blocks": in_blocks,
    "local": local,
    "notebook": notebook,
    "ui": ui,
    "serve": serve,
}

FORBIDDEN = ("memfd_create", "pidfd_open", "landlock", "seccomp")
"""Calls that a Linux without protections lacks: an old kernel, WSL 1, a container's profile."""

NEEDED = {"notebook": ("IPython",), "fitted": ("skl2onnx", "sklearn", "pandas")}
"""Packages that jobs need, and not all installations have."""

ON_LINUX = ("overview", "local", "ui", "serve")
"""Jobs that a Linux without protections changes."""


def jobs_of(system: str) -> tuple[str, ...]:
    """Return the names of the jobs on a system; an installation does those that it can."""
    if system == "linux":
        return ON_LINUX
    left_out = set()
    if system == "here":
        left_out = {"imports"} if is_unconfined() else {"imports", "serve"}
        left_out |= {name for name, needed in NEEDED.items() if not all(map(find_spec, needed))}
    return tuple(name for name in JOBS if name not in left_out)


def faults(names: Iterable[str], folder: Path) -> Iterator[tuple[str, str]]:
    """Do jobs; yield each with its traceback, empty where it went well."""
    table = table_of(folder)
    for name in names:
        try:
            JOBS[name](table)
        except Exception:  # noqa: BLE001 - the test names it
            yield name, traceback.format_exc()
        else:
            yield name, ""


def main() -> None:
    """Lose what the system lacks, and do its jobs."""
    system, folder, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    if system != "here":
        lose(system)
    found = {}
    for name, fault in faults(names or jobs_of(system), folder):
        found[name] = fault
        print(f"{name}: {'failed' if fault else 'passed'}\n{fault}", flush=True)  # noqa: T201
    (folder / "faults.json").write_text(json.dumps(found), encoding="utf-8")
    if system == "here" and any(found.values()):
        sys.exit(1)


def lose(system: str) -> None:
    """Take away what the system lacks; foreign libraries have what they need by then."""
    for name in FOREIGN:
        importlib.import_module(name)
    if system == "linux":
        importlib.import_module("call_filter").forbid(FORBIDDEN)
    else:
        importlib.import_module("guard").take_away(system)


if __name__ == "__main__":
    main()
