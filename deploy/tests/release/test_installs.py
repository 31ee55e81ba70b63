"""The files of a release install each client, which asks the release's image.

Only dependencies come from the package registries.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

from image_root import Server
from release_programs import ROOT, run

EXAMPLES = ROOT / "examples/miami"
PAIR = ("TOT_LVG_AREA", "structure_quality")
"""The two features of Miami's houses that interact most."""
PAIR_OF_1000_ROWS = ("OCEAN_DIST", "structure_quality")
"""Of the rows that the example in Java asks for: three pairs are almost equally strong."""


def test_a_python_environment_installs_the_client_and_asks(
    release: Path, version: str, served: Server, tmp_path: Path
) -> None:
    run(sys.executable, "-m", "venv", "env", folder=tmp_path)
    found = f"--find-links={release / 'python'}"
    run("env/bin/pip", "install", "--quiet", found, f"onnxplain=={version}", folder=tmp_path)
    program = f"""
import onnxplain
with onnxplain.connect({served.endpoint!r}) as client:
    found = client.explain({str(EXAMPLES / "miami.onnx")!r},
        {str(EXAMPLES / "miami_housing.csv.gz")!r}, onnxplain.Interactions(),
        feature_columns={features()!r})
pairs = found.interactions.pairwise
print(onnxplain.__file__, *max(pairs, key=lambda pair: pair.numerators[0]).features)
"""

    file, *pair = run("env/bin/python", "-c", program, folder=tmp_path).split()

    assert file.startswith(str(tmp_path))
    assert sorted(pair) == sorted(PAIR)


def features() -> list[str]:
    """The columns that the model of the examples takes, as its README asks for them."""
    asked = json.loads((EXAMPLES / "request.json").read_text(encoding="utf-8"))
    return list(asked["featureColumns"])


def test_the_server_package_installs_and_serves(
    release: Path, version: str, tmp_path: Path
) -> None:
    run(sys.executable, "-m", "venv", "env", folder=tmp_path)
    found = f"--find-links={release / 'python'}"
    run("env/bin/pip", "install", "--quiet", found, f"onnxplain-server=={version}", folder=tmp_path)

    said = run("env/bin/onnxplain", "version", folder=tmp_path)
    described = json.loads(
        run("env/bin/onnxplain", "describe", EXAMPLES / "miami.onnx", folder=tmp_path)
    )

    assert said.split()[-1] == version
    assert described["model"]["inputs"]


def test_a_go_module_gets_the_client_from_a_proxy_and_asks(
    release: Path, version: str, served: Server, tmp_path: Path
) -> None:
    module = "github.com/onnxplain/onnxplain/clients/go"
    shutil.copy(ROOT / "clients/go/examples/miami/main.go", tmp_path)
    go = shutil.which("go", path=f"{ROOT / '.tools/go/bin'}:{os.environ['PATH']}")
    assert go is not None
    proxies = f"file://{release / 'go'},{run(go, 'env', 'GOPROXY', folder=tmp_path).strip()}"
    # A folder is no checksum database, and a module of one's own file system needs none.
    settings = {"GOPROXY": proxies, "GONOSUMDB": module, "GOFLAGS": "-mod=mod"}
    # Not what an earlier test left under the same version.
    settings["GOMODCACHE"] = str(tmp_path / "modules")
    run(go, "mod", "init", "example.org/miami", folder=tmp_path)
    run(go, "get", f"{module}@v{version}", folder=tmp_path, **settings)
    run(go, "build", "-o", "miami", ".", folder=tmp_path, **settings)

    printed = run("./miami", served.endpoint, *map(str, miami_files()), folder=tmp_path, **settings)
    run(go, "clean", "-modcache", folder=tmp_path, **settings)

    assert sorted(printed.partition(":")[0].split(" x ")) == sorted(PAIR)


def miami_files() -> tuple[Path, Path]:
    """The model and the table of the examples."""
    return EXAMPLES / "miami.onnx", EXAMPLES / "miami_housing.csv.gz"


def test_an_npm_project_installs_the_client_and_asks(
    release: Path, version: str, served: Server, tmp_path: Path
) -> None:
    npm = ROOT / ".venv-proto/bin"
    path = {"PATH": f"{npm}:{os.environ['PATH']}"}
    (tmp_path / "package.json").write_text('{"type": "module"}\n', encoding="utf-8")
    package = release / f"npm/onnxplain-{version}.tgz"
    run(npm / "npm", "install", "--no-fund", "--no-audit", package, folder=tmp_path, **path)
    example = (ROOT / "clients/typescript/examples/miami.ts").read_text(encoding="utf-8")
    folder = re.search(r"new URL\(\"(.*)\", import.meta.url\)", example)
    assert folder is not None
    source = example.replace(folder[0], json.dumps(f"{EXAMPLES.as_uri()}/"))
    (tmp_path / "miami.ts").write_text(source, encoding="utf-8")

    node: list[str | Path] = [npm / "node", "--experimental-strip-types", "--no-warnings"]
    printed = run(*node, "miami.ts", served.endpoint, folder=tmp_path, **path)

    found = re.search(r"Strongest interaction: (\w+) x (\w+),", printed)
    assert found is not None, printed
    assert sorted(found.groups()) == sorted(PAIR)


PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>miami</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories>
    <repository>
      <id>release</id>
      <url>file://{maven}</url>
      <releases><checksumPolicy>fail</checksumPolicy></releases>
    </repository>
  </repositories>
  <dependencies>
    <dependency>
      <groupId>io.github.onnxplain</groupId>
      <artifactId>onnxplain-client</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def test_a_maven_project_takes_the_client_from_a_repository_and_asks(
    release: Path, version: str, served: Server, tmp_path: Path
) -> None:
    project = PROJECT.format(maven=release / "maven", version=version)
    (tmp_path / "pom.xml").write_text(project, encoding="utf-8")
    sources = tmp_path / "src/main/java"
    sources.mkdir(parents=True)
    shutil.copy(ROOT / "clients/java/examples/Miami.java", sources)
    # Not what an earlier test left in the repository of this user.
    installed = Path.home() / ".m2/repository/io/github/onnxplain"
    shutil.rmtree(installed, ignore_errors=True)
    goals = [
        "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:build-classpath",
        "-Dmdep.outputFile=path",
    ]
    run("mvn", "-q", "-B", "-ntp", "compile", *goals, folder=tmp_path)

    path = f"target/classes:{(tmp_path / 'path').read_text()}"
    printed = run("java", "-cp", path, "Miami", served.endpoint, EXAMPLES, folder=tmp_path)
    shutil.rmtree(installed)

    assert sorted(printed.partition(":")[0].split(" and ")) == sorted(PAIR_OF_1000_ROWS)
