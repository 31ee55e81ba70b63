"""The Java client has the version of all others."""

import tomllib
from pathlib import Path
from xml.etree import ElementTree


def test_java_client_has_the_version_of_the_python_client(root: Path) -> None:
    project = ElementTree.parse(root / "clients/java/pom.xml").getroot()  # noqa: S314 - our own
    python = tomllib.loads((root / "clients/python/pyproject.toml").read_text(encoding="utf-8"))

    found = project.findtext("{http://maven.apache.org/POM/4.0.0}version")

    assert found == python["project"]["version"]
