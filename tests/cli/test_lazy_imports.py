"""Lazy imports: a command imports what it was asked for, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain_server.cli.commands import SUMMARIES, command
from onnxplain_server.trees.kernels.compiled_module import compiled_module

ROOT = Path(__file__).parents[2]
NETWORK = ROOT / "tests/models/sklearn_network_binary.onnx"
FOREST = ROOT / "tests/models/sklearn_random_forest_binary.onnx"

COMPUTING = {"numpy", "onnx", "onnxruntime", "pyarrow"}
CALLING = {"cryptography", "flask", "grpc", "jwt", "prometheus_client", "redis", "waitress"}
DRAWING = {"jinja2", "rich", "vl_convert"}
SCIENTIFIC = {"numba", "pandas", "scipy", "sklearn"}
ALWAYS_NEEDLESS = CALLING | DRAWING | {"pandas"}

LIBRARIES = {
    "feature_vectors": {"scipy", "sklearn", "numba", "pandas", "rich"},  # the last two by sklearn
    "firm": {"scipy", "numba"},
    "swarm": {"scipy"},
}
"""Those that a method may import beside the computing ones, whatever the model."""
ARGUMENTS = {
    "feature_vectors": (
        "--set",
        "source=SURROGATE",
        "--set",
        "sentence_count=100",
        "--set",
        "depth=2",
    ),
    "firm": ("--set", "source=MODEL"),
}
SETTING_FLAGS = {"explainer", "serve", "settings"}
"""Commands whose flags are made from the settings."""
LIGHT = ("interactions", "partial_dependence", "permutation_importance", "average_loss")
"""Methods that import computing libraries only, and nothing of others."""
METHODS = [field.name for field in MethodOptions.DESCRIPTOR.fields]
ROOMS = ("methods", "explain.methods", "plots")

MARK = "imported modules:"
CODE = f"""
import atexit, sys
atexit.register(lambda: print("{MARK}", *sys.modules, file=sys.stderr))
from onnxplain_server.__main__ import main
main()
"""
HELP = f"""
import contextlib, sys
from onnxplain_server.__main__ import main
for name in sys.argv[1:]:
    sys.argv[1:] = [name, "--help"]
    with contextlib.suppress(SystemExit):
        main()
print("{MARK}", *sys.modules, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with text in a column that no model reads, and a class of 0 or 1."""
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    rows = [
        [str((7 * i + j * i * i) % 23) for j in range(8)] + [f"{i % 2},note"] for i in range(60)
    ]
    names = ",".join([*(f"c{j}" for j in range(8)), "label", "text"])
    path.write_text("\n".join([names, *map(",".join, rows)]) + "\n")
    return path


def imported(*words: object, exit_code: int = 0, code: str = CODE, **variables: str) -> set[str]:
    """Modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )
    assert done.returncode == exit_code, done.stderr[-2000:]
    return set(done.stderr.rpartition(MARK)[2].split())


def explain(model: Path, table: Path, *words: str) -> set[str]:
    features = ",".join(f"c{j}" for j in range(8))
    asked = ("--feature-columns", features, "--target-column", "label", *words)
    return imported("explain", model, table, *asked)


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize(
    "words",
    [["--help"], [], ["version"], ["explian"]],
    ids=["help", "no command", "version", "unknown command"],
)
def test_the_list_of_commands_imports_none_of_them(words: list[str]) -> None:
    modules = imported(*words, exit_code=0 if words in (["--help"], ["version"]) else 2)

    needless = COMPUTING | ALWAYS_NEEDLESS | SCIENTIFIC | {"google", "pydantic_settings"}
    assert packages(modules) & needless == set()
    asked = {"version"} & set(words)
    assert {f"onnxplain_server.cli.{name}" for name in SUMMARIES.keys() - asked} & modules == set()


def test_completion_of_a_command_imports_none_of_them() -> None:
    modules = imported(
        _ONNXPLAIN_COMPLETE="complete_bash", COMP_WORDS="onnxplain ex", COMP_CWORD="1"
    )

    assert packages(modules) & (COMPUTING | ALWAYS_NEEDLESS | SCIENTIFIC | {"google"}) == set()


def test_help_of_commands_imports_nothing_that_computes() -> None:
    names = [name for name in SUMMARIES if name not in SETTING_FLAGS]

    modules = imported(*names, code=HELP)

    assert {f"onnxplain_server.cli.{name}" for name in ("explain", "plot", "token")} <= modules
    needless = COMPUTING | ALWAYS_NEEDLESS | SCIENTIFIC | {"pydantic_settings"}
    assert packages(modules) & needless == set()


def test_a_missing_file_is_told_before_anything_that_computes_is_imported(table: Path) -> None:
    modules = imported("explain", "missing.onnx", table, exit_code=1)

    assert packages(modules) & (COMPUTING | ALWAYS_NEEDLESS | SCIENTIFIC) == set()


def test_describe_imports_neither_tables_nor_methods() -> None:
    modules = imported("describe", NETWORK)

    assert packages(modules) & (ALWAYS_NEEDLESS | SCIENTIFIC) == set()
    assert {f"onnxplain_server.methods.{name}" for name in METHODS} & modules == set()


@pytest.mark.parametrize(
    "methods",
    [LIGHT, *(pytest.param((name,), marks=pytest.mark.slow) for name in LIBRARIES)],
    ids="+".join,
)
def test_a_method_imports_its_own_modules_and_libraries(
    methods: tuple[str, ...], table: Path
) -> None:
    words = [word for name in methods for word in ("--method", name, *ARGUMENTS.get(name, ()))]

    modules = explain(NETWORK, table, *words)

    allowed = set().union(*(LIBRARIES.get(name, set()) for name in methods))
    assert packages(modules) & (ALWAYS_NEEDLESS | SCIENTIFIC) <= allowed
    for room in ROOMS:
        assert {f"onnxplain_server.{room}.{name}" for name in methods} <= modules
    others = {"feature_vectors", "firm", "sequences", "swarm"} - set(methods)
    assert {f"onnxplain_server.{room}.{n}" for room in ROOMS for n in others} & modules == set()


def test_trees_import_numba_only_where_no_loops_are_compiled_ahead(table: Path) -> None:
    modules = explain(FOREST, table, "--method", "interactions")

    assert packages(modules) & (ALWAYS_NEEDLESS - {"pandas"} | {"sklearn"}) == set()
    assert ("numba" in modules) == (compiled_module() is None)


def test_a_table_without_plots_imports_rich_and_neither_plots_nor_page(table: Path) -> None:
    words = ("--method", "interactions", "--no-plots", "--output", "table")

    modules = explain(NETWORK, table, *words)

    assert "onnxplain_server.plots.interactions" not in modules
    assert packages(modules) & (ALWAYS_NEEDLESS | SCIENTIFIC) == {"rich"}


def test_an_overview_imports_neither_its_own_methods_before_nor_others(table: Path) -> None:
    modules = explain(NETWORK, table, "--budget-seconds", "1")

    assert "onnxplain_server.explain.planning.overview" in modules
    assert packages(modules) & (ALWAYS_NEEDLESS | SCIENTIFIC) == set()


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_list_shows_the_first_sentence_of_each_command(name: str) -> None:
    made: Any = command(name)

    assert " ".join(made.help.split("\n\n")[0].split()) == SUMMARIES[name]


def test_each_lazy_module_exists() -> None:
    """A name in the rule of the linter that nothing has would forbid nothing."""
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    banned = ruff["flake8-tidy-imports"]["banned-module-level-imports"]
    own = [name.replace(".", "/") for name in banned if name.startswith("onnxplain_server")]

    service = ROOT / "service"
    missing = [
        name for name in own if not ((service / name).is_dir() or (service / f"{name}.py").exists())
    ]
    assert missing == []
