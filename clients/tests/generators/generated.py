"""Generators of clients: the commands and programs of their page, each in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onnxplain.v1.explanation_service_pb2 import MethodOptions

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "surfaces" / "openapi-clients.md"
DOCUMENT = ROOT / "service" / "onnxplain_server" / "transport" / "rest" / "openapi.json"
METHODS = [each.json_name for each in MethodOptions.DESCRIPTOR.fields]
PYTHON = ROOT / ".venv-generators" / "bin" / "python"
PACKAGE_MANAGERS = ("npm ", "pip ", "go get ", "go mod ")
"""What installs: the locks of this folder and of the environment are in its place."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NODE = "node_modules/.bin"


def as_json(name: str) -> str:
    """Write a method with its default options as JSON, which TypeScript and Python read."""
    return json.dumps({name: {}})


def by_from_dict(name: str) -> str:
    """Write a method as what OpenAPI Generator makes of a dictionary."""
    return f"MethodOptions.from_dict({as_json(name)})"


def in_go(name: str) -> str:
    """Write a method with its default options in Go."""
    kind = _capital(name)
    return (
        f"func() (m onnxplain.MethodOptions) {{ must(m.FromMethodOptionsBy{kind}("
        f"onnxplain.MethodOptionsBy{kind}{{{kind}: onnxplain.{kind}Options{{}}}})); return }}()"
    )


def in_python(name: str) -> str:
    """Write a method with its default options for the classes of openapi-python-client."""
    kind = _capital(name)
    models = '__import__("onnxplain_rest.models").models'
    return f"{models}.MethodOptionsBy{kind}({models}.{kind}Options())"


@dataclass(frozen=True)
class Generator:
    """A generator, by the heading that it has on the page.

    Parameters
    ----------
    heading, program : str
        Of the page; and the file that its program is written to.
    check, run : str
        Commands that compile the program, if there is one, and that run it.
    methods : str
        What the program has in the place of methods.
    method : callable
        Writes one of them, by its name.
    around : str
        What all of them are written into.
    wrong : mapping
        What is put in the place of what, to ask for what does not exist.
    """

    heading: str
    program: str
    check: str
    run: str
    methods: str = "[{ interactions: { pairwiseFeatureCount: 2 } }]"
    method: Callable[[str], str] = as_json
    around: str = "[{}]"
    wrong: Mapping[str, tuple[str, str]] = field(
        default_factory=lambda: {
            "method": ("{ interactions:", "{ interaction:"),
            "option": ("pairwiseFeatureCount:", "pairwiseFeatureCounts:"),
        }
    )

    def blocks(self) -> Mapping[str, str]:
        """Read the code blocks below the heading, by their language."""
        sections = PAGE.read_text(encoding="utf-8").split("\n## ")
        (section,) = (each for each in sections if each.startswith(f"{self.heading}\n"))
        return dict(_BLOCK.findall(section))

    def generate(self, folder: Path) -> None:
        """Run the commands of the page in this folder, which gets what they find there."""
        shutil.copy(DOCUMENT, folder / "openapi.json")
        for name in ("package.json", "tsconfig.json", "go.mod", "go.sum"):
            shutil.copy(HERE / name, folder)
        (folder / "node_modules").symlink_to(HERE / "node_modules")
        for line in self.blocks()["sh"].splitlines():
            if not line.startswith(PACKAGE_MANAGERS):
                done = run(line, folder)
                assert done.returncode == 0, done.stdout

    def written(self) -> str:
        """Return the program of the page."""
        ((_, code),) = ((k, v) for k, v in self.blocks().items() if k != "sh")
        return code

    def with_every_method(self) -> str:
        """Return the program with all methods in the place of one."""
        methods = ", ".join(map(self.method, METHODS))
        return replaced(self.written(), self.methods, self.around.format(methods))

    def without(self, what: str) -> str:
        """Return the program with a method or option that does not exist."""
        return replaced(self.written(), *self.wrong[what])


def replaced(text: str, old: str, new: str) -> str:
    """Put a text in the place of another one, which must be there."""
    assert old in text
    return text.replace(old, new)


def run(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with the programs of the locked environments."""
    programs = [PYTHON.parent, folder / _NODE, ROOT / ".venv-proto" / "bin"]
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": f"{folder}:{folder}/generated", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _typescript(heading: str) -> Generator:
    return Generator(heading, "program.ts", "tsc", "node built/program.js")


def _python(
    heading: str, one: str, method: Callable[[str], str], wrong: Mapping[str, tuple[str, str]]
) -> Generator:
    check = "" if method is as_json else "mypy program.py"
    return Generator(heading, "program.py", check, "python program.py", one, method, wrong=wrong)


GENERATORS: Sequence[Generator] = [
    _typescript("openapi-typescript"),
    _typescript("Hey API"),
    _typescript("OpenAPI Generator: typescript-fetch"),
    _python(
        "OpenAPI Generator: python",
        "[MethodOptions(MethodOptionsByInteractions(interactions=options))]",
        by_from_dict,
        {
            "method": ("MethodOptionsByInteractions(", "MethodOptionsByInteraction("),
            "option": ("pairwiseFeatureCount=", "pairwiseFeatureCounts="),
        },
    ),
    _python(
        "openapi-python-client",
        "[MethodOptionsByInteractions(InteractionsOptions(pairwise_feature_count=2))]",
        in_python,
        {
            "method": ("MethodOptionsByInteractions(", "MethodOptionsByInteraction("),
            "option": ("pairwise_feature_count=", "pairwise_feature_counts="),
        },
    ),
    _python(
        "datamodel-code-generator",
        '[{"interactions": {"pairwiseFeatureCount": 2}}]',
        as_json,
        {
            "method": ('{"interactions":', '{"interaction":'),
            "option": ('"pairwiseFeatureCount":', '"pairwiseFeatureCounts":'),
        },
    ),
    Generator(
        "oapi-codegen",
        program="main.go",
        check="go build -o built .",
        run="./built",
        methods="make([]onnxplain.MethodOptions, 1)",
        method=in_go,
        around="[]onnxplain.MethodOptions{{{}}}",
        wrong={
            "method": ("MethodOptionsByInteractions{", "MethodOptionsByInteraction{"),
            "option": ("{PairwiseFeatureCount:", "{PairwiseFeatureCounts:"),
        },
    ),
]
