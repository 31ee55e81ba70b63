"""Check that methods and values of the contract are declared, not compared: run by `make check`.

    python -m tools.declarations [--list]

A method is asked about itself by what it declares. Outside its homes, the files and folders that
bear its name, no line of the server may compare its name or the type of its options or result.
Each value of an enumeration of the contract must stand in the server's code. `--list` also names
the files in which the name of a method stands, which need a look when a method comes.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from onnxplain_server.methods.registry import METHODS, SEQUENCES

_SERVER = Path(__file__).parents[1] / "service/onnxplain_server"
_CONTRACT = _SERVER / "core/contract_limits.py"
_NAMES = frozenset({*METHODS, SEQUENCES.module})
_KINDS = {"Options", "Result"}


def comparisons(path: Path) -> Iterator[tuple[int, str]]:
    """Yield lines that compare a method's name or type outside its homes, with the name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = _imported_modules(tree)
    for node in ast.walk(tree):
        for name in _compared(node, imported):
            if not is_home(path, name):
                yield node.lineno, name  # type: ignore[attr-defined] # all that compare have one


def named(path: Path) -> set[str]:
    """Return the methods whose names stand in a file outside their homes."""
    text = path.read_text(encoding="utf-8")
    found = {name for name in _NAMES if re.search(rf"\b{name}\b", text)}
    return {name for name in found if not is_home(path, name)}


def unhandled_values(files: Iterable[Path]) -> Iterator[str]:
    """Yield values of enumerations of the contract that no code of the server names."""
    aliases: dict[str, set[str]] = defaultdict(set)
    used: set[tuple[str, str]] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Attribute):
                aliases[_dotted(node.value)].add(_dotted(node.target))
            if isinstance(node, ast.Attribute):
                used.add((_dotted(node.value).rpartition(".")[2], node.attr))
    for enumeration, values in _enumerations().items():
        names = aliases[enumeration]
        for value in values:
            if not any((name, value) in used for name in names):
                yield f"{enumeration}.{value}"


def is_home(path: Path, name: str) -> bool:
    """Return whether a file, or a folder that it lies in, bears the name of a method."""
    names = {name, SEQUENCES.name} if name == SEQUENCES.module else {name}
    own = re.compile("|".join(rf"(^|_){each.rstrip('s')}" for each in sorted(names)))
    return any(own.search(part) for part in path.relative_to(_SERVER).with_suffix("").parts)


def _compared(node: ast.AST, imported: Mapping[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        texts = [
            t.value for each in operands for t in ast.walk(each) if isinstance(t, ast.Constant)
        ]
        yield from (text for text in texts if isinstance(text, str) and text in _NAMES)
    if isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] == "HasField":
        yield from (a.value for a in node.args if isinstance(a, ast.Constant) and a.value in _NAMES)
    if isinstance(node, ast.Call) and _dotted(node.func) == "isinstance":
        for part in ast.walk(node.args[1]):
            if isinstance(part, ast.Attribute) and part.attr in _KINDS:
                name = imported.get(_dotted(part.value), "")
                yield from [name] if name in _NAMES else []
    if isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant):
        yield from [node.value.value] if node.value.value in _NAMES else []


def _imported_modules(tree: ast.AST) -> dict[str, str]:
    """Return the names by which a file has modules, each with the module's own last name."""
    return {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _enumerations() -> dict[str, list[str]]:
    return {
        f"{message.name}.{kind.name}": [
            _dotted(value.targets[0]) for value in kind.body if isinstance(value, ast.Assign)
        ]
        for message in ast.parse(_CONTRACT.read_text(encoding="utf-8")).body
        if isinstance(message, ast.ClassDef)
        for kind in message.body
        if isinstance(kind, ast.ClassDef)
    }


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def main() -> int:
    """Check, and list what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the files that name a method")
    arguments = parser.parse_args()
    files = [path for path in sorted(_SERVER.rglob("*.py")) if path != _CONTRACT]
    wrong = [
        f"{path.relative_to(_SERVER.parents[1])}:{line}: compares the method {name}; ask what it "
        "declares"
        for path in files
        for line, name in comparisons(path)
    ]
    wrong += [
        f"{value}: no code of the server names this value" for value in unhandled_values(files)
    ]
    if arguments.list:
        for path in files:
            if names := named(path):
                sys.stdout.write(f"{path.relative_to(_SERVER)}: {', '.join(sorted(names))}\n")
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
