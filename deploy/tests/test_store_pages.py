"""The page of each store: its list is read by the server, and its values give that list."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from onnxplain_server.adapters.sources.source_list import SourceEntry, read_source_list

PAGES = sorted((Path(__file__).parents[2] / "docs/sources").glob("*.md"))
MOUNTED = "/etc/onnxplain/secrets"


@pytest.fixture(params=PAGES, ids=lambda page: str(page.stem))
def page(request: pytest.FixtureRequest) -> str:
    """The text of a page."""
    return str(request.param.read_text(encoding="utf-8"))


def block(page: str, language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], tuple[SourceEntry, ...]]:
    """Read a list by the server's own loader, with its secrets in a folder."""

    def entries(text: str) -> tuple[SourceEntry, ...]:
        for file in re.findall(rf'"{MOUNTED}/(.+)"', text):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).touch()
        path = tmp_path / "sources.toml"
        path.write_text(text.replace(MOUNTED, str(tmp_path)), encoding="utf-8")
        return read_source_list(path).entries

    return entries


def test_the_list_of_a_page_is_read(page: str, read: Any) -> None:
    assert len(read(block(page, "toml"))) == 2


def test_the_values_of_a_page_give_its_list_and_reach_its_endpoints(
    page: str, read: Any, render: Callable[[Any], Any], conform: Callable[[str], str]
) -> None:
    chart = render(yaml.safe_load(block(page, "yaml")))
    rendered = chart.of_kind("ConfigMap", "-sources")["data"]["sources.toml"]
    listed = read(block(page, "toml"))

    assert conform(chart.text) == ""
    assert read(rendered) == listed
    secrets = {Path(file).parts[0] for file in re.findall(rf'"{MOUNTED}/(.+)"', rendered)}
    mounted = [one["mountPath"] for one in chart.container["volumeMounts"]]
    assert {f"{MOUNTED}/{name}" for name in secrets} <= set(mounted)
    policy = chart.of_kind("NetworkPolicy", "release-onnxplain")["spec"]["egress"]
    ports = {port["port"] for rule in policy for port in rule["ports"]}
    # Of MinIO, network policies see the pods' own port.
    assert {9000 if "minio" in one.endpoint else one.address[2] for one in listed} <= ports
