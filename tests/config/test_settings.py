"""Settings: flags override the environment, which overrides defaults."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnxplain_server.config.loading import load
from onnxplain_server.config.redis_settings import signing_secret
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.config.settings import core_count


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REST_PORT", "CACHE_BYTES", "MAX_SECONDS", "CACHE_SECRET", "CACHE_SECRET_FILE"):
        monkeypatch.delenv(f"ONNXPLAIN_{name}", raising=False)


def test_ports_have_the_defaults_of_the_contract() -> None:
    assert (load({}).rest_port, load({}).grpc_port, load({}).metrics_port) == (8080, 8081, 8082)


def test_nobody_outside_this_machine_reaches_a_server_by_default() -> None:
    assert load({}).host == "127.0.0.1"


def test_the_environment_sets_what_no_flag_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPLAIN_REST_PORT", "9000")

    assert load({}).rest_port == 9000
    assert load({"rest_port": 9001}).rest_port == 9001


@pytest.mark.parametrize("name", ["ONNXPLAIN_RUNING_COUNT", "onnxplain_runing_count"])
def test_a_variable_of_no_setting_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "4")

    with pytest.raises(SettingsError, match=f"^{name}: there is no such setting"):
        load({})


def test_a_misspelled_variable_is_told_with_a_similar_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPLAIN_RUNING_COUNT", "4")

    with pytest.raises(SettingsError, match=r"did you mean ONNXPLAIN_RUNNING_COUNT\?$"):
        load({})


@pytest.mark.parametrize(
    "name",
    [
        "ONNXPLAIN_SERVICE_HOST",
        "ONNXPLAIN_SERVICE_PORT",
        "ONNXPLAIN_SERVICE_PORT_REST",
        "ONNXPLAIN_PORT",
        "ONNXPLAIN_PORT_8080_TCP",
        "ONNXPLAIN_PORT_8080_TCP_ADDR",
        "ONNXPLAIN_DEMO_METRICS_SERVICE_HOST",
        "ONNXPLAIN_TOKEN",
    ],
)
def test_variables_of_clients_and_of_kubernetes_are_no_settings(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    default = load({})

    monkeypatch.setenv(name, "tcp://10.0.0.1:8080")

    assert load({}) == default


def test_sizes_may_have_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPLAIN_CACHE_BYTES", "2MiB")

    assert load({}).cache_bytes == 2 * 1024 * 1024


@pytest.mark.parametrize("name", ["max_model_bytes", "max_table_bytes"])
def test_a_body_must_fit_into_what_may_wait_on_disk(name: str) -> None:
    """Or its own connection would be closed for it."""
    load({name: "3GiB", "unread_disk_bytes": "3GiB"})

    with pytest.raises(SettingsError, match=f"UNREAD_DISK_BYTES.* at least .*{name.upper()}"):
        load({name: "3GiB"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rest_port", "70000"),
        ("rest_port", "http"),
        ("max_seconds", "0"),
        ("max_seconds", "inf"),
        ("max_seconds", "nan"),
        ("running_count", "0"),
        ("waiting_count", "-1"),
        ("grace_seconds", "-1"),
        ("cache_bytes", "-1"),
        ("cache_bytes", "much"),
        ("max_message_bytes", "4GiB"),
        ("log_level", "loud"),
        ("host", ""),
    ],
)
def test_a_bad_setting_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"ONNXPLAIN_{name.upper()}", value)

    with pytest.raises(SettingsError) as caught:
        load({})

    message = str(caught.value)
    assert message.startswith(f"ONNXPLAIN_{name.upper()} (--{name.replace('_', '-')}): ")
    assert repr(value) in message
    assert "\n" not in message


def test_an_unknown_flag_is_refused() -> None:
    with pytest.raises(SettingsError, match="colour"):
        load({"colour": "red"})


def test_all_bad_settings_are_named_at_once() -> None:
    with pytest.raises(SettingsError, match=r"REST_PORT.*GRPC_PORT"):
        load({"rest_port": -1, "grpc_port": -1})


def test_settings_do_not_change_while_the_server_runs() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load({}).rest_port = 1


@pytest.mark.parametrize(
    ("quota", "count"), [("100000 100000\n", 1), ("50000 100000\n", 1), ("1 1000000\n", 1)]
)
def test_a_container_gets_as_many_threads_as_its_share_of_cores(
    tmp_path: Path, quota: str, count: int
) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(quota)

    assert core_count(file) == count


def test_without_a_share_every_core_counts(tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    everything = core_count(file)
    file.write_text("max 100000\n")

    assert core_count(file) == everything >= 1
    file.write_text("99900000 100000\n")
    assert core_count(file) == everything


CODE = "0123456789abcdef"


@pytest.mark.parametrize(
    "value", ["localhost:6379", "http://redis", "redis://", "redis://a:70000", "redis://a:b"]
)
def test_a_bad_address_of_redis_is_refused_without_repeating_its_password(value: str) -> None:
    with pytest.raises(SettingsError, match=r"^ONNXPLAIN_REDIS_URL") as caught:
        load({"redis_url": value.replace("//", "//:hidden@")})

    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("value", ["redis://a", "rediss://u:p@a:1/2", "unix:///run/redis.sock"])
def test_redis_may_be_plain_encrypted_or_on_this_machine(value: str) -> None:
    url = load({"redis_url": value}).redis_url

    assert url is not None
    assert url.get_secret_value() == value


def test_passwords_and_secrets_do_not_show_where_settings_are_printed() -> None:
    chosen = load({"redis_url": "redis://:hidden@a", "cache_secret": "hidden" * 3})

    assert "hidden" not in repr(chosen)


def test_the_secret_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPLAIN_CACHE_SECRET", CODE)

    assert signing_secret(load({})) == CODE.encode()


def test_the_secret_may_stand_in_a_file_with_a_line_end(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(CODE + "\n")

    assert signing_secret(load({"cache_secret_file": str(file)})) == CODE.encode()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({}, "needs ONNXPLAIN_CACHE_SECRET or ONNXPLAIN_CACHE_SECRET_FILE"),
        ({"cache_secret": CODE, "cache_secret_file": "secret"}, "not both"),
        ({"cache_secret": CODE[1:]}, "15 bytes and needs 16; make one with: openssl"),
        ({"cache_secret_file": "/nowhere/secret"}, "/nowhere/secret: No such file"),
        ({"cache_secret_file": "/dev/null"}, "CACHE_SECRET_FILE: the secret has 0 bytes"),
    ],
)
def test_without_a_good_secret_the_server_says_in_one_line_what_it_needs(
    flags: dict[str, str], told: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        signing_secret(load(flags))

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
