"""Command `settings`: what `serve` would start with, and whence."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from onnxplain_server.config.loading import load
from onnxplain_server.config.settings import Settings
from typer.testing import Result

SECRET = "never-shown-0123456789"  # noqa: S105 - of these tests


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ONNXPLAIN_"):
            monkeypatch.delenv(name)


def entries(text: str) -> dict[str, tuple[str, str]]:
    """Values and sources by name, as printed."""
    found = re.findall(r"^(?:# )?(\w+)(?: =|:) (.*?) +# (.*)$", text, re.MULTILINE)
    return {name: (value, source) for name, value, source in found}


def test_every_setting_is_printed_with_its_source(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "onnxplain.toml"
    file.write_text('running_count = 3\nextra_count = 5\nlog_level = "debug"\n')
    monkeypatch.setenv("ONNXPLAIN_EXTRA_COUNT", "6")
    monkeypatch.setenv("onnxplain_cache_bytes", "2MiB")

    printed = entries(run("settings", "--config", file, "--log-level", "error").stdout)

    assert list(printed) == list(Settings.model_fields)
    assert printed["running_count"] == ("3", str(file))
    assert printed["extra_count"] == ("6", "ONNXPLAIN_EXTRA_COUNT")
    assert printed["cache_bytes"] == (str(2 * 2**20), "onnxplain_cache_bytes")
    assert printed["log_level"] == ('"error"', "--log-level")
    assert printed["max_seconds"] == ("600.0", "default")
    assert printed["config_file"] == (str(file), "--config")


def test_the_output_is_a_file_of_the_same_settings(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    flags = ["--rest-port", "9000", "--allowed-hosts", "a.example,b.example", "--max-seconds", "9"]
    file = tmp_path / "printed.toml"

    file.write_text(run("settings", *flags).stdout)

    expected = load({"rest_port": 9000, "allowed_hosts": "a.example,b.example", "max_seconds": 9})
    assert load({"config_file": file}).model_dump(exclude={"config_file"}) == expected.model_dump(
        exclude={"config_file"}
    )


def test_secrets_are_hidden(run: Callable[..., Result]) -> None:
    url = f"redis://user:{SECRET}@redis:6379/0"

    text = run("settings", "--redis-url", url, "--cache-secret", SECRET).stdout

    assert SECRET not in text
    assert entries(text)["redis_url"] == ("hidden", "--redis-url")
    assert entries(text)["cache_secret"] == ("hidden", "--cache-secret")


def test_settings_that_serve_would_refuse_are_refused(run: Callable[..., Result]) -> None:
    result = run("settings", "--running-count", "0")

    assert result.exit_code == 2
    assert "INVALID_SETTING" in result.stderr
    assert "ONNXPLAIN_RUNNING_COUNT (--running-count)" in result.stderr
