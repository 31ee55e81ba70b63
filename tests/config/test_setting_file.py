"""Settings file: precedence, and errors that name file and key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from onnxplain_server.config.loading import load
from onnxplain_server.config.redis_settings import redis_address
from onnxplain_server.config.setting_names import PREFIX, SettingsError
from onnxplain_server.config.settings import Settings

CODE = "0123456789abcdef"


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    def written(text: str) -> str:
        file = tmp_path / "onnxplain.toml"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return written


def test_a_flag_wins_over_a_variable_and_that_over_the_file_and_that_over_the_default(
    write: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("rest_port = 1\ngrpc_port = 1\nmetrics_port = 1\n")
    monkeypatch.setenv("ONNXPLAIN_REST_PORT", "2")
    monkeypatch.setenv("ONNXPLAIN_GRPC_PORT", "2")

    chosen = load({"config_file": file, "rest_port": "3"})

    assert (chosen.rest_port, chosen.grpc_port, chosen.metrics_port) == (3, 2, 1)
    assert chosen.max_seconds == 600


def test_a_flag_wins_over_the_file_where_no_variable_is_set(write: Callable[[str], str]) -> None:
    assert load({"config_file": write("rest_port = 1"), "rest_port": "3"}).rest_port == 3


def test_a_variable_may_name_the_file(
    write: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONNXPLAIN_CONFIG_FILE", write('cache_bytes = "2MiB"'))
    assert load({}).cache_bytes == 2 * 2**20


def test_every_setting_but_the_file_itself_may_stand_in_it(write: Callable[[str], str]) -> None:
    file = write(
        'isolation = "none"\nmax_seconds = 5\nlog_format = "json"\nhost = "0.0.0.0"\n'
        'tokens_file = "/run/tokens"\nredis_url = "redis://a"\n'
    )
    chosen = load({"config_file": file})
    assert (chosen.isolation, chosen.max_seconds, chosen.log_format) == ("none", 5, "json")
    assert chosen.tokens_file == Path("/run/tokens")
    with pytest.raises(SettingsError, match="config_file: there is no such setting"):
        load({"config_file": write('config_file = "another"')})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rest_prot = 8080", "rest_prot: there is no such setting; did you mean rest_port?"),
        ("[rest]\nport = 1", "rest: there is no such setting"),
        ("rest_port = 70000", "rest_port: Input should be less than or equal to 65535, not 70000"),
        ('log_format = "yaml"', "log_format: Input should be 'text' or 'json', not 'yaml'"),
        ("rest_port = [1]", "rest_port: Input should be a valid integer, not [1]"),
        ("rest_port 1", "not TOML: Expected '=' after a key"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_file_in_one_line(
    write: Callable[[str], str], text: str, told: str
) -> None:
    file = write(text)
    with pytest.raises(SettingsError) as caught:
        load({"config_file": file})
    message = str(caught.value)
    assert message.startswith(f"ONNXPLAIN_CONFIG_FILE (--config): {file}: {told}")
    assert "\n" not in message


def test_a_mistake_in_the_file_is_told_even_where_a_flag_hides_it(
    write: Callable[[str], str],
) -> None:
    with pytest.raises(SettingsError, match="rest_port: Input should be"):
        load({"config_file": write("rest_port = -1"), "rest_port": "1"})


def test_a_file_that_is_not_there_or_no_text_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"/nowhere\.toml: No such file"):
        load({"config_file": "/nowhere.toml"})
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not TOML, which is UTF-8"):
        load({"config_file": str(binary)})


def test_a_secret_in_the_file_is_not_repeated(write: Callable[[str], str]) -> None:
    with pytest.raises(SettingsError, match="redis_url: Value error") as caught:
        load({"config_file": write('redis_url = "http://:hidden@a"')})
    assert "hidden" not in str(caught.value)


def test_the_address_of_redis_with_its_password_may_stand_in_a_file(
    write: Callable[[str], str],
) -> None:
    file = write("redis://:hidden@a:1/2\n")
    assert redis_address(load({"redis_url_file": file})) == "redis://:hidden@a:1/2"
    assert redis_address(load({"redis_url": "redis://a"})) == "redis://a"
    assert redis_address(load({})) is None


def test_an_address_of_redis_in_a_file_is_checked_without_repeating_it(
    write: Callable[[str], str],
) -> None:
    chosen = load({"redis_url_file": write("http://:hidden@a")})
    with pytest.raises(SettingsError, match=r"^ONNXPLAIN_REDIS_URL_FILE .*must look") as caught:
        redis_address(chosen)
    assert "hidden" not in str(caught.value)
    with pytest.raises(SettingsError, match="exclude each other"):
        redis_address(load({"redis_url": "redis://a", "redis_url_file": "/b"}))
    with pytest.raises(SettingsError, match="REDIS_URL_FILE: /nowhere: No such file"):
        redis_address(load({"redis_url_file": "/nowhere"}))
