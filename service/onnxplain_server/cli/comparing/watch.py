"""Command `watch`: a model explained on the newest rows, and compared with a kept answer.

A scheduler calls it: it runs once. Its history is files.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from onnxplain.v1.explanation_comparison_pb2 import ComparisonOptions, ComparisonRule, RuleFinding
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, Reference
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.cli import files
from onnxplain_server.cli.comparing.compare_flags import COMPARED_METHODS
from onnxplain_server.cli.comparing.history import WatchHistory, time_name
from onnxplain_server.cli.comparing.sides import (
    SideFlags,
    compare_sides,
    exit_by,
    kept_answer,
    use_flags_of_explain,
)
from onnxplain_server.cli.comparing.watch_flags import ARGUMENTS, DEFAULTS, WATCH
from onnxplain_server.cli.failure import (
    CommandError,
    UsageFault,
    in_short,
)
from onnxplain_server.cli.requests import methods, request
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.wire import canonical

if TYPE_CHECKING:
    from onnxplain_server.wire.comparisons.comparison import ComparedAnswers

COMMAND_CLASS = methods.MethodCommand

_MOST_TIMES = 100
"""Earlier answers that a timeline shows."""


def watch(context: typer.Context, **given: Any) -> None:
    """Explain MODEL on the newest rows, and compare with a kept answer; to be run by a scheduler.

    Each run keeps its answer in --folder, with what has changed since the reference. The first run
    has none and only keeps its answer; its methods are those named, or else interactions, and with
    a target the average loss. Methods, options and seed of later runs are those of their reference.

    Exit codes are those of compare.

    onnxplain watch model.onnx today.parquet --folder history --target-column price

    onnxplain watch model.onnx s3://lake/today.parquet --folder history --reference approved.json
    --rules rules.toml --keep 30 --metrics-file /var/lib/node_exporter/onnxplain.prom

    onnxplain watch model.onnx today.csv --folder history --output-file today.html
    """
    paths = {"model": given["model"], "table": given["table"], "request": None}
    with in_short(request.names(context, paths)):
        findings = _watch(context, given)
    exit_by(findings)


@dataclass(frozen=True, slots=True)
class _Found:
    """Answer of a run, compared with its reference; None where it has none."""

    answer: ExplainResponse
    compared: ComparedAnswers | None


def _watch(context: typer.Context, given: Mapping[str, Any]) -> Sequence[RuleFinding]:
    """Run once: explain, compare, keep, and tell; return what is known of the rules."""
    from onnxplain_server.wire.comparisons.rules import (  # noqa: PLC0415 - help needs no numpy
        read_rules,
    )

    files.check_one_stdin([given[name] for name in ("model", "table", "reference", "rules")])
    rules = read_rules(files.read(given["rules"])) if given["rules"] else []
    if given["junit_xml"] and not rules:
        raise UsageFault("has the rules of --rules, which is not given", "--junit-xml")
    at = given["at"] or datetime.now(UTC).replace(microsecond=0)
    history = WatchHistory(given["folder"])
    history.make()
    with files.destination(history.path(at)) as write:
        path = _reference_path(history, given["reference"], at)
        found = _found(context, given, _reference(given, path, rules), at)
        write(f"{canonical.encode(found.answer)}\n".encode())
        # Inside: a run that fails here keeps no answer, which its repetition would compare with.
        _tell(given, found, history, at)
        _write_metrics(given, found, at)
    if given["keep"]:
        history.prune(given["keep"], given["reference"])
    return found.answer.comparison.findings


def _reference_path(history: WatchHistory, given: str | None, at: datetime) -> Path | None:
    """Return the file of the reference; None for the first run."""
    if given:
        return Path(given)
    newest = history.newest_before(at)
    return newest.path if newest else None


def _reference(
    given: Mapping[str, Any], path: Path | None, rules: Sequence[ComparisonRule]
) -> Reference | None:
    """Read the reference, with the options and the rules of the comparison."""
    if path is None:
        return None
    try:
        kept = kept_answer(str(path))
    except ExplainError as error:
        message = (
            f"the reference {path} cannot be read: {error.message}; remove it, or give another"
        )
        raise CommandError("FILE_UNREADABLE", message) from None
    if kept is None:
        raise UsageFault(f"{path} is no kept answer: no JSON output of `explain --replicates`")
    options = ComparisonOptions(
        confidence_level=given["confidence_level"],
        correction=given["correction"],
        leading_count=given["leading_count"],
    )
    return Reference(answer=kept, options=options, rules=rules)


def _found(
    context: typer.Context,
    given: Mapping[str, Any],
    reference: Reference | None,
    at: datetime,
) -> _Found:
    """Explain the newest rows, and compare them with the reference, if there is one."""
    flags = SideFlags(context, {**given, "reference": None})
    message = flags.request("model", given["table"])
    if given["result_prefix"]:
        message.result_uri = f"{given['result_prefix']}{time_name(at)}.binpb"
    if reference is None:
        return _Found(flags.explain(message), None)
    _take_reference(message, reference, has_methods=bool(given["method"]))
    answer = flags.explain(message)
    compared = compare_sides(reference, answer)
    answer.comparison.CopyFrom(compared.message)
    return _Found(answer, compared)


def _take_reference(message: ExplainRequest, reference: Reference, *, has_methods: bool) -> None:
    """Take methods and options from the reference; whoever writes the answer compares, too."""
    from onnxplain_server.wire.comparisons.reference import (  # noqa: PLC0415 - likewise
        fill_from_reference,
    )

    asked = {str(method.WhichOneof("method")) for method in message.methods}
    del message.methods[:]
    message.reference.CopyFrom(reference)
    whole = ExplainRequest()
    whole.CopyFrom(message)
    fill_from_reference(whole)
    kept = {str(method.WhichOneof("method")) for method in whole.methods}
    if has_methods and asked & set(COMPARED_METHODS) != kept:
        raise UsageFault(
            f"the methods are those of the reference, {', '.join(sorted(kept))}: name these or "
            "none, or begin another --folder",
            "--method",
        )
    if not message.result_uri:
        whole.ClearField("reference")
        message.CopyFrom(whole)


def _tell(given: Mapping[str, Any], found: _Found, history: WatchHistory, at: datetime) -> None:
    """Write what has changed; on a page also timelines of the kept answers up to this one."""
    from onnxplain_server.cli.output.comparison_tables import write_comparison

    if found.compared is None:
        text = "onnxplain: first answer of this watch: kept, and compared with nothing"
        print(text, file=sys.stderr)  # noqa: T201 - output of a command
        return
    paths = {name: given[name] for name in ("junit_xml", "markdown", "output_file")}

    def timelines() -> list[Plot]:
        from onnxplain_server.report.output_names import output_naming  # noqa: PLC0415 - a page's
        from onnxplain_server.wire.comparisons.timelines import (  # noqa: PLC0415 - likewise
            draw_timelines,
        )

        runs = [*_earlier(history, at), (at, found.answer)]
        return draw_timelines(runs, output_naming(found.answer))

    told = found.compared, found.answer, given["output"], paths
    write_comparison(*told, timelines)


def _earlier(history: WatchHistory, at: datetime) -> Iterator[tuple[datetime, ExplainResponse]]:
    """Yield the last answers before a time; a file that cannot be read is left out."""
    for run in [run for run in history.runs() if run.at < at][-_MOST_TIMES:]:
        with contextlib.suppress(ExplainError, CommandError):
            if answer := kept_answer(str(run.path)):
                yield run.at, answer


def _write_metrics(given: Mapping[str, Any], found: _Found, at: datetime) -> None:
    """Write metrics to a file and push them, where that is asked for."""
    if not (given["metrics_file"] or given["push_gateway"]):
        return
    from prometheus_client import generate_latest  # noqa: PLC0415 - is rarely needed

    from onnxplain_server.cli.comparing.watch_metrics import (  # noqa: PLC0415 - likewise
        WatchRun,
        push,
        registry_of,
    )

    name = given["name"] or found.answer.receipt.model_name or "onnxplain"
    comparison = found.answer.comparison if found.compared else None
    own = name, at, given["interval"], given["metric_features"]
    registry = registry_of(WatchRun(*own, found.answer, comparison))
    if given["metrics_file"]:
        with files.destination(given["metrics_file"]) as write:
            write(generate_latest(registry))
    if given["push_gateway"]:
        push(given["push_gateway"], name, registry)


use_flags_of_explain(watch, ARGUMENTS, WATCH, DEFAULTS)
