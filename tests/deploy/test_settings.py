"""What the files of `deploy/` set exists, and what they promise fits the defaults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from onnxplain_server import cli
from onnxplain_server.config.loading import load
from onnxplain_server.config.redis_settings import signing_secret
from onnxplain_server.config.setting_names import PREFIX
from onnxplain_server.config.settings import Settings
from typer.testing import CliRunner

# After its grace, the server ends within this time.
LAST_SECONDS = 3


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)


@pytest.mark.parametrize(
    "name",
    ["Dockerfile", "deploy/README.md", "deploy/compose.yaml", "deploy/manifests/deployment.yaml"],
)
def test_every_variable_named_is_a_setting(root: Path, name: str) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+)", (root / name).read_text(encoding="utf-8")))
    assert {text.lower() for text in named} <= Settings.model_fields.keys()


def test_every_command_named_is_one_of_ours(container, dockerfile: list[list[str]]) -> None:
    commands = [container["args"], *(line[1:] for line in dockerfile if line[0] == "CMD")]
    for command in commands:
        words = [word.strip("[],") for word in command]
        result = CliRunner().invoke(cli.app, [*words, "--help"])
        assert result.exit_code == 0, words


def test_the_ports_are_the_defaults(container, compose, dockerfile: list[list[str]]) -> None:
    chosen = load({})
    ports = {"rest": chosen.rest_port, "grpc": chosen.grpc_port, "metrics": chosen.metrics_port}
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == ports
    published = compose["services"]["onnxplain"]["ports"]
    assert [port.rsplit(":")[-1] for port in published] == [str(port) for port in ports.values()]
    (exposed,) = [line[1:] for line in dockerfile if line[0] == "EXPOSE"]
    assert exposed == [str(port) for port in ports.values()]


def test_the_image_listens_beyond_its_own_container(dockerfile: list[list[str]]) -> None:
    variables = {item for name, *items in dockerfile if name == "ENV" for item in items}
    assert "ONNXPLAIN_HOST=0.0.0.0" in variables
    assert load({}).host == "127.0.0.1"


def test_kubernetes_kills_nothing_that_still_may_work(pod, container) -> None:
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    (grace,) = [
        float(one["value"]) for one in container["env"] if one["name"] == f"{PREFIX}GRACE_SECONDS"
    ]
    assert grace >= load({}).max_seconds
    assert pod["terminationGracePeriodSeconds"] > pause + grace + LAST_SECONDS


def test_compose_kills_nothing_that_still_may_work(compose) -> None:
    given = compose["services"]["onnxplain"]["stop_grace_period"]
    assert int(given.removesuffix("s")) > load({}).grace_seconds + LAST_SECONDS


def test_redis_has_the_secret_that_it_needs(
    compose, container, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = compose["services"]["onnxplain"]["environment"]
    needed = ["ONNXPLAIN_REDIS_URL", "ONNXPLAIN_CACHE_SECRET"]
    assert set(needed) <= given.keys()
    assert given["ONNXPLAIN_CACHE_SECRET"].startswith("${ONNXPLAIN_CACHE_SECRET:?")
    secrets = [one for one in container["env"] if "valueFrom" in one]
    assert [one["name"] for one in secrets] == needed
    assert all(one["valueFrom"]["secretKeyRef"]["optional"] for one in secrets)

    monkeypatch.setenv("ONNXPLAIN_REDIS_URL", given["ONNXPLAIN_REDIS_URL"])
    monkeypatch.setenv("ONNXPLAIN_CACHE_SECRET", "0" * 64)
    assert load({}).redis_url is not None
    assert signing_secret(load({})) == b"0" * 64
