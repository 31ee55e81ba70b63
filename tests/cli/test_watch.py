"""Command `watch`: runs over a growing file, their history, exit codes and metrics."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server import cli
from onnxplain_server.__main__ import _cache, _local_sources, _runner
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner, Result

Watch = Callable[..., Result]

RULES = """
[[rule]]
name = "importance of b"
statistic = "importance"
features = ["b"]
holds = "value <= 0.7"

[[rule]]
name = "the loss may not rise"
statistic = "average_loss"
holds = "change <= 0.5"
"""
DAYS = [f"2026-12-0{day}T06:00:00Z" for day in range(1, 6)]
ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy/prometheus/alerts.yaml"
DASHBOARD = ROOT / "deploy/grafana/onnxplain.json"
LABELS = ("rule", "statistic", "features", "group", "output")
FILES = [f"2026120{day}T060000Z.json" for day in range(1, 6)]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The model a + b."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        "sum",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, ["n", 1]) for n in "ab"],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "sum.onnx"
    path.write_bytes(made.SerializeToString())
    return path


class Table:
    """A file that grows by 300 rows at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._random = np.random.default_rng(0)
        path.write_text("a,b,target\n", encoding="utf-8")

    def grow(self, spread: float = 1.0) -> None:
        """Append rows, of which b has a standard deviation."""
        a, b, noise = self._random.normal(size=(3, 300))
        rows = np.column_stack([a, spread * b, a + spread * b + noise])
        with self.path.open("a", encoding="utf-8") as file:
            np.savetxt(file, rows, fmt="%.6f", delimiter=",")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "rows.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def metrics_file(tmp_path: Path) -> Path:
    return tmp_path / "onnxplain.prom"


@pytest.fixture
def watch(tmp_path: Path, model: Path, table: Table, folder: Path, metrics_file: Path) -> Watch:
    """Run the real command: watch(time, ...)."""
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES, encoding="utf-8")
    parts = cli.ServiceParts(_runner, _cache, lambda _flags, _began: None, _local_sources)

    def invoke(at: str, *words: object) -> Result:
        asked = ("watch", model, table.path, "--folder", folder, "--target-column", "target")
        files = ("--rules", rules, "--metrics-file", metrics_file, "--interval", 86400)
        texts = [str(word) for word in (*asked, *files, "--at", at, *words)]
        return CliRunner().invoke(cli.app, texts, obj=parts)

    return invoke


def metrics_of(text: str) -> dict[tuple[str, ...], float]:
    """Metrics by name and the values of LABELS, where they have some."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert sample.labels["watch"] == "sum.onnx"
            name = sample.name.removeprefix("onnxplain_watch_")
            labels = [sample.labels.get(each, "") for each in LABELS]
            found[name, *filter(None, labels)] = sample.value
    return found


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_runs_over_a_growing_file_are_silent_until_it_drifts(
    watch: Watch, table: Table, folder: Path, metrics_file: Path
) -> None:
    for run, at in enumerate(DAYS[:3]):
        table.grow()
        result = watch(at, "--output", "table")
        metrics = metrics_of(metrics_file.read_text(encoding="utf-8"))

        assert result.exit_code == 0, result.output
        assert ("first answer" in result.stderr) is (run == 0)
        assert ("rule_verdict", "importance of b") not in metrics or run
        assert metrics["last_run_timestamp_seconds",] == 1796104800 + run * 86400
        assert metrics["value", "importance", "b", "y"] == pytest.approx(0.5, abs=0.1)
        assert metrics.get(("changed_statistics", "importance"), 0) == 0
    assert metrics["rule_verdict", "importance of b"] == 1
    assert abs(metrics["change_standard_errors", "importance", "b", "y"]) < 4
    assert metrics["interval_seconds",] == 86400

    table.grow(spread=6)
    result = watch(DAYS[3], "--output", "table")
    metrics = metrics_of(metrics_file.read_text(encoding="utf-8"))

    assert result.exit_code == 4, result.output
    assert "importance of b FAILS" in " ".join(result.stdout.split())
    assert metrics["rule_verdict", "importance of b"] == 0
    assert metrics["rule_verdict", "the loss may not rise"] == 1
    assert metrics["changed_statistics", "importance"] == 2
    assert metrics["change_standard_errors", "importance", "b", "y"] > 4
    assert metrics["value", "importance", "b", "y"] > 0.8
    page = (ROOT / "docs/watch.md").read_text(encoding="utf-8")
    assert {name for name, *_ in metrics} == set(
        re.findall(r"^\| `onnxplain_watch_(\w+)`", page, re.MULTILINE)
    )
    assert names_in(folder) == FILES[:4]
    kept = json.loads((folder / FILES[3]).read_text(encoding="utf-8"))
    assert kept["comparison"]["referenceTableDigest"].startswith("sha256:")


def test_alerts_fire_on_a_drift_alone_and_panels_show_it(
    watch: Watch, table: Table, tmp_path: Path, metrics_file: Path, program: Callable[[str], str]
) -> None:
    """By Prometheus' own engine, on the metrics of real runs."""
    tests = []
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    shown = [f"count({text}) > bool 0" for text in expressions if "onnxplain_watch_" in text]
    for at, spread in zip(DAYS[:3], (1, 1, 6), strict=True):
        table.grow(spread)
        watch(at)
        fired = {"OnnxplainImportanceChanged", "OnnxplainWatchRuleFails"} if spread > 1 else set()
        checks = [
            {
                "expr": 'count by (alertname) (ALERTS{alertname!="OnnxplainAbsent"})',
                "exp_samples": [{"labels": f'{{alertname="{n}"}}', "value": 1} for n in fired],
            }
        ]
        if at != DAYS[0]:
            checks += [{"expr": text, "exp_samples": [{"value": 1}]} for text in shown]
        tests.append(
            {
                "interval": "1m",
                "input_series": series_of(metrics_file.read_text(encoding="utf-8")),
                "promql_expr_test": [{**check, "eval_time": "30m"} for check in checks],
            }
        )
    file = tmp_path / "watch_test.yaml"
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "tests": tests}), encoding="utf-8")
    command = [program("promtool"), "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert len(shown) == 4
    assert done.returncode == 0, done.stdout + done.stderr


def series_of(text: str) -> list[dict[str, str]]:
    """Metrics as promtool takes them: each a value that stays."""
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    found = []
    for each in samples:
        labels = ",".join(f"{name}={json.dumps(value)}" for name, value in each.labels.items())
        found.append({"series": f"{each.name}{{{labels}}}", "values": f"{each.value:f}x60"})
    return found


def test_a_run_that_is_repeated_replaces_its_answer_and_is_not_its_reference(
    watch: Watch, table: Table, folder: Path
) -> None:
    table.grow()
    watch(DAYS[0])
    table.grow(spread=6)
    first, again = watch(DAYS[1]), watch(DAYS[1])

    assert first.exit_code == again.exit_code == 4
    assert first.stdout == again.stdout
    assert names_in(folder) == FILES[:2]


def test_the_newest_answers_are_kept_with_the_reference_and_other_files(
    watch: Watch, table: Table, folder: Path
) -> None:
    table.grow()
    watch(DAYS[0])
    (folder / "20261301T060000Z.json").write_text("no time")
    (folder / "notes.json").write_text("{}")
    others = ["20261301T060000Z.json", "notes.json"]
    for at in DAYS[1:4]:
        assert watch(at, "--keep", 2).exit_code == 0
    assert names_in(folder) == sorted([*FILES[2:4], *others])

    assert watch(DAYS[4], "--keep", 1, "--reference", folder / FILES[2]).exit_code == 0
    assert names_in(folder) == sorted([FILES[2], FILES[4], *others])
    assert watch(DAYS[4], "--keep", 1).exit_code == 0
    assert names_in(folder) == sorted([FILES[4], *others])


def test_the_page_has_a_timeline_of_the_kept_answers(
    watch: Watch, table: Table, tmp_path: Path
) -> None:
    page = tmp_path / "today.html"
    for at in DAYS[:3]:
        table.grow()
        assert watch(at, "--output-file", page).exit_code == 0
    html = page.read_text(encoding="utf-8")

    assert "Importances over time for" in html
    assert "Average losses over time for" in html
    assert all(f"{day[:10]} 06:00 UTC" in html for day in DAYS[:3])


def test_a_broken_file_of_the_history_is_named_or_left_out(
    watch: Watch, table: Table, folder: Path, tmp_path: Path
) -> None:
    table.grow()
    watch(DAYS[0])
    (folder / FILES[1]).write_text('{"explanations": [')
    broken = watch(DAYS[2])
    good = ("--reference", folder / FILES[0])

    assert broken.exit_code == 1
    assert f"{FILES[1]} cannot be read" in broken.stderr
    assert watch(DAYS[2], *good, "--output-file", tmp_path / "page.html").exit_code == 0


def test_a_failed_run_keeps_no_answer(watch: Watch, table: Table, folder: Path) -> None:
    table.grow()
    assert watch(DAYS[0], "--seed", 3).exit_code == 0
    refused = watch(DAYS[1], "--seed", 4)
    other = watch(DAYS[2], "--method", "firm")

    assert refused.exit_code == 1
    assert "not that of the reference" in refused.stderr
    assert other.exit_code == 2
    assert "average_loss, interactions" in " ".join(other.stderr.replace("│", " ").split())
    assert names_in(folder) == FILES[:1]
    assert watch(DAYS[1], "--method", "interactions", "--method", "average_loss").exit_code == 0


def test_answers_go_to_an_address_with_what_has_changed(
    watch: Watch, table: Table, folder: Path, tmp_path: Path
) -> None:
    table.grow()
    watch(DAYS[0])
    prefix = f"file://{tmp_path}/charges-"
    result = watch(DAYS[1], "--result-prefix", prefix)

    assert result.exit_code == 0, result.output
    content = (tmp_path / "charges-20261202T060000Z.binpb").read_bytes()
    written = pb.ExplainResponse.FromString(content)
    kept = json.loads((folder / FILES[1]).read_text(encoding="utf-8"))
    assert written.comparison.tested_count == kept["comparison"]["testedCount"] > 0
    assert written.explanations[0].HasField("replicates")


class Gateway(HTTPServer):
    """What a Pushgateway takes: the path with the labels of a group, and metrics as text."""

    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), GatewayHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.pushed: list[tuple[str, str]] = []


class GatewayHandler(BaseHTTPRequestHandler):
    server: Gateway

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.pushed.append((self.path, content.decode()))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None: ...


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with Gateway() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_metrics_replace_those_of_the_watch_at_a_pushgateway(
    watch: Watch, table: Table, metrics_file: Path, gateway: Gateway
) -> None:
    table.grow()
    assert watch(DAYS[0], "--push-gateway", gateway.url).exit_code == 0

    ((path, content),) = gateway.pushed
    assert path == "/metrics/job/onnxplain_watch/watch/sum.onnx"
    assert content == metrics_file.read_text(encoding="utf-8")


def test_a_run_whose_metrics_are_not_pushed_keeps_no_answer(
    watch: Watch, table: Table, folder: Path, gateway: Gateway
) -> None:
    table.grow()
    gateway.status = 503
    result = watch(DAYS[0], "--push-gateway", gateway.url)

    assert result.exit_code == 1
    assert "PUSH_FAILED" in result.stderr
    assert names_in(folder) == []


def test_only_leading_features_have_metrics(watch: Watch, table: Table, metrics_file: Path) -> None:
    table.grow(spread=6)
    watch(DAYS[0], "--metric-features", 1)
    metrics = metrics_of(metrics_file.read_text(encoding="utf-8"))

    assert ("value", "importance", "b", "y") in metrics
    assert ("value", "importance", "a", "y") not in metrics


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2026-12-01T06:00:00+02:00", "20261201T040000Z.json"),
        ("2026-12-01T06:00", "20261201T060000Z.json"),
        ("2026-12-01 06:00:00.9", "20261201T060000Z.json"),
    ],
)
def test_times_are_of_utc(watch: Watch, table: Table, folder: Path, text: str, name: str) -> None:
    table.grow()
    watch(text)

    assert names_in(folder) == [name]


@pytest.mark.parametrize("text", ["yesterday", "0001-01-01T00:00:00+10:00"])
def test_what_is_no_time_is_a_usage_error(watch: Watch, text: str) -> None:
    assert watch(text).exit_code == 2
