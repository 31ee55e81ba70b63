"""Size and words of the code: small rooms, small files, headlines that a search finds."""

import ast
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "service/onnxplain_server"
CODE = sorted(SERVER.rglob("*.py"))
CLIENT = [p for p in (ROOT / "clients/python/onnxplain").rglob("*.py") if "v1" not in p.parts]
PYTHON = [*CODE, *CLIENT]
FOLDERS = {path.parent for path in [*PYTHON, *(ROOT / "bench").rglob("*.py")]}

MOST_ROOMS, MOST_FILES, MOST_LINES, MOST_FUNCTION_LINES = 24, 20, 450, 40
QUESTIONS = {"From", "How", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Why"}
"""First words that make a headline a riddle: a noun names the thing, a verb says what it does."""
PATTERN = {"Options", "Result"}
"""Classes that each method has."""
REASON = re.compile(r"# Long: \w")
"""Comment above a function that may be long."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def nodes(path: Path) -> Sequence[ast.AST]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def test_rooms_are_few() -> None:
    rooms = [
        path
        for path in SERVER.iterdir()
        if (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem != "__init__")
    ]

    assert len(rooms) <= MOST_ROOMS


def test_folders_are_small() -> None:
    sizes = {name_of(folder): len(list(folder.glob("*.py"))) for folder in FOLDERS}

    assert {name: size for name, size in sizes.items() if size > MOST_FILES} == {}


def test_files_are_short() -> None:
    lengths = {name_of(path): len(lines_of(path)) for path in PYTHON if not is_generated(path)}

    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def test_functions_are_short() -> None:
    """But for those with a comment above that says why: `# Long: ...`."""
    long = [
        f"{name_of(path)}: {function.name}"
        for path in PYTHON
        if not is_generated(path)
        for function in nodes(path)
        if isinstance(function, Function)
        and (function.end_lineno or 0) - function.lineno >= MOST_FUNCTION_LINES
        and not REASON.search(lines_of(path)[first_line(function) - 2])
    ]

    assert long == []


def test_headlines_name_a_thing() -> None:
    kinds = ast.Module | ast.ClassDef | Function
    riddles = [
        f"{name_of(path)}: {headline}"
        for path in PYTHON
        for node in nodes(path)
        if isinstance(node, kinds) and (headline := (ast.get_docstring(node) or "").split("\n")[0])
        if re.split(r"\W", headline, maxsplit=1)[0] in QUESTIONS
    ]

    assert riddles == []


def test_a_class_name_stands_for_one_thing() -> None:
    places = defaultdict(list)
    # Generated classes have the names of the contract's messages.
    for path in (path for path in CODE if not is_generated(path)):
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name_of(path))

    assert {n: p for n, p in places.items() if len(p) > 1 and n not in PATTERN} == {}


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def is_generated(path: Path) -> bool:
    return "enerated" in "".join(lines_of(path)[:2])


def first_line(function: Function) -> int:
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])
