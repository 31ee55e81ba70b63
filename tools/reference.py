"""Reference pages and tables of docs/, made from the code: settings, errors, warnings, methods.

Usage: python tools/reference.py FOLDER
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from onnxplain_server.adapters.access.access_metrics import AccessState
from onnxplain_server.adapters.access.certificates import CertificateFiles
from onnxplain_server.adapters.access.watched_files import WatchedFiles
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.worker_metrics import WorkerCounts, WorkerState
from onnxplain_server.cli.method_options import MethodHelp, MethodOption, methods
from onnxplain_server.config.setting_names import PREFIX, flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.counts.cluster_counts import ClusterState
from onnxplain_server.core.counts.remote_counts import NO_CALLS, CallCounts
from onnxplain_server.core.errors import Reason
from onnxplain_server.core.operation_store import RedisCounts
from onnxplain_server.core.remote.sessions import NoRemoteSessions
from onnxplain_server.core.warnings import ALL, WARNINGS, WarningDeclaration, WarningSection
from onnxplain_server.report.registry import of_method
from onnxplain_server.transport.admission.quotas import NO_QUOTAS
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.audit.audit_line import FIELDS
from onnxplain_server.transport.metrics.cluster_metrics import ClusterCollector
from onnxplain_server.transport.metrics.operation_metrics import OperationCollector
from onnxplain_server.transport.metrics.quota_metrics import QuotaState
from onnxplain_server.transport.metrics.redis_metrics import RedisCollector
from onnxplain_server.transport.metrics.remote_metrics import RemoteCollector
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.metrics.state_metrics import StateCollector, UnreadCollector
from onnxplain_server.transport.rest.connections.connection_limit import ConnectionLimit
from onnxplain_server.transport.status import STATUS
from prometheus_client import Metric
from pydantic import ByteSize
from pydantic.fields import FieldInfo

# Defaults that differ from machine to machine.
_OF_THE_MACHINE = {"thread_count": "one per core"}

# What is ours comes first.
_STARTS = ("onnxplain_", "grpc_", "http_", "process_")

_NOTE = "<!-- Written by `make reference`: change the code, not this page. -->"

_SETTINGS = """Every setting is a flag of `onnxplain serve`, an environment variable, and a key of
the file that `--config` or `ONNXPLAIN_CONFIG_FILE` names. Flags override variables, variables
override the file. Sizes are bytes, or texts like `64MiB`. An invalid setting, an unknown key of the
file, or a variable `ONNXPLAIN_...` that is no setting stops the start, with a message that names
it.

```toml
# onnxplain serve --config onnxplain.toml
rest_port = 8080
cache_bytes = "512MiB"
cache_secret_file = "/run/secrets/cache"
```

Put secrets into files of their own: `redis_url_file`, `cache_secret_file`, `tokens_file`,
`tls_key_file`. OpenTelemetry's variables, `OTEL_*`, configure [traces](operations.md#traces).
"""

_HEAD = ("Variable and flag", "Key", "Default", "Meaning")

_ERRORS = """Every error has a reason, which is stable and part of the contract: act on it, not on
the message. The message names the input, the rule and the remedy. Representation by surface:
[gRPC](surfaces/grpc.md), [REST](surfaces/rest.md#errors),
[command line](surfaces/command-line.md#exit-codes), [Python](surfaces/python.md).
"""

_WARNINGS = """`warnings` of an answer list what lowers trust in it. Each warning has a stable
`code` and a `message` that names the columns, the sizes and the remedy. Numbers that cannot be
computed are NaN; a warning or the field's description says why.

Where the numbers of a method cannot be relied on, a [report](reports.md) has no sentence about it:
the last column names these methods.
"""

_METRICS = """`/metrics` on port 8082 (`ONNXPLAIN_METRICS_PORT`) serves Prometheus and OpenMetrics
formats. Each server process counts from its start. Labels come from closed lists, without models,
features or paths. Probes are not counted. Metrics `onnxplain_caller_...` are served with
`ONNXPLAIN_METRICS_CALLERS` only: they name the listed callers, and count all others as `other`.
"""


def settings() -> str:
    """Write the page of settings."""
    rows = (
        (_setting(name), _key(name), _default(name, field), field.description)
        for name, field in Settings.model_fields.items()
    )
    return _page("Settings", _SETTINGS, _HEAD, rows)


def errors() -> str:
    """Write the page of errors."""
    rows = (
        (
            f"`{reason.name}`",
            reason.value,
            STATUS[reason].grpc.name,
            str(STATUS[reason].http),
            "" if (retry := STATUS[reason].retry_seconds) is None else f"after {retry} s",
        )
        for reason in Reason
    )
    return _page("Errors", _ERRORS, ("Reason", "Meaning", "gRPC", "HTTP", "Retry"), rows)


def warnings() -> str:
    """Write the page of warnings, a table for each section."""
    parts = [f"# Warnings\n\n{_NOTE}\n\n{_WARNINGS}"]
    for section in WarningSection:
        rows = (
            (f"`{code}`", told.cause, told.remedy, _silenced(told))
            for code, told in WARNINGS.items()
            if told.section is section
        )
        table = _table(("Code", "Cause", "Remedy", "No sentence about"), rows)
        parts.append("\n".join((f"## {section.value}", "", *table, "")))
    return "\n".join(parts)


def _silenced(told: WarningDeclaration) -> str:
    """Name the methods about which a report says nothing under a warning."""
    return "anything" if told.silences == ALL else ", ".join(map(_link, told.silences))


class _ListedRemotes(NoRemoteSessions):
    """Of a server that lists one prefix: labels show on what is counted."""

    def counts(self) -> Mapping[str, CallCounts]:
        return {"PREFIX": NO_CALLS}


def metrics() -> str:
    """Write the page of metrics."""
    counted = Metrics(callers=["caller"])
    state = StateCollector(Scheduler(1, 0), MemoryCache(0, Signer(b"")), MemoryBlobs(0, 0))
    counted.registry.register(state)
    counted.registry.register(QuotaState(NO_QUOTAS))
    certificates = WatchedFiles([], lambda _contents: CertificateFiles(b"", b"", None, 0))
    counted.registry.register(OperationCollector(None))
    counted.registry.register(ClusterCollector(lambda: ClusterState(worker_count=0)))
    counted.registry.register(UnreadCollector({"memory": ConnectionLimit(0)}))
    counted.registry.register(RemoteCollector(_ListedRemotes()))
    counted.registry.register(RedisCollector(lambda: RedisCounts(is_up=True, failures={"full": 0})))
    counted.registry.register(AccessState(WatchedFiles([], len), certificates))
    for noun in ("worker", "decoder"):
        counted.registry.register(WorkerState(noun, lambda: WorkerCounts({}, 0, (), 0, {}, 0)))
    # Labels show on what has happened.
    counted.http_ended("POST", "/", 200, 0.0)
    families = sorted(counted.registry.collect(), key=lambda family: _order(family.name))
    rows = (
        (f"`{_full_name(family)}`", family.type, _labels(family), family.documentation)
        for family in families
    )
    return _page("Metrics", _METRICS, ("Name", "Type", "Labels", "Meaning"), rows)


PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "settings.md": settings,
        "errors.md": errors,
        "warnings.md": warnings,
        "metrics.md": metrics,
    }
)


_DOCS = Path(__file__).parents[1] / "docs"
_OPTIONS_START = "<!-- Written by `make reference`: change proto/, not this table. -->\n"
_TABLE_END = "<!-- End of the table. -->\n"
_VALUE = re.compile(r"^([A-Z]{2,}[A-Z_]*|true|false|-?\d[\d.,e-]*)$")
_OPTIONS_HEAD = ("Option", "Values", "Default", "Meaning")


_AUDIT_START = "<!-- Written by `make reference`: change the code, not this table. -->\n"
_AUDIT_HEAD = ("Field", "Type", "Meaning")

_METHODS_START = "<!-- Written by `make reference` from the contract. -->\n"
_METHODS_HEAD = ("Method", "Question")


def index_page(page: str, names: Iterable[str]) -> str:
    """Return the index of the documents with its table of methods made anew."""
    rows = ((_link(name), of_method(name).question) for name in names)
    return _with_table(page, _METHODS_START, _table(_METHODS_HEAD, rows))


def operations_page(page: str) -> str:
    """Return the page of operations with the table of an audit line made anew."""
    rows = ((f"`{field.name}`", field.kind, field.meaning) for field in FIELDS)
    return _with_table(page, _AUDIT_START, _table(_AUDIT_HEAD, rows))


def _link(name: str) -> str:
    page = (_DOCS / _path(name)).read_text(encoding="utf-8")
    title = page.partition("\n")[0].removeprefix("# ").partition(":")[0]
    return f"[{title}]({_path(name)})"


def _path(name: str) -> str:
    return f"methods/{name.replace('_', '-')}.md"


def _with_table(page: str, start: str, lines: Iterable[str]) -> str:
    """Replace the table after a marker."""
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(_TABLE_END)
    table = "".join(f"{line}\n" for line in lines)
    return f"{before}{start}\n{table}\n{_TABLE_END}{after}"


def method_page(page: str, method: MethodHelp) -> str:
    """Return the page of a method with the table of its options made anew."""
    rows = (_option_row(option, method.message) for option in method.options)
    default_rows = f"Rows by default (`row_count`): {method.rows}."
    table = (*_table(_OPTIONS_HEAD, rows), "", default_rows)
    return _with_table(page, _OPTIONS_START, table)


def _option_row(option: MethodOption, message: str) -> Sequence[str]:
    names = ", ".join(f"`{name}`" for name in option.values)
    if names and option.type.startswith("list"):
        names = f"list of {names}"
    kind = "; ".join(filter(None, (names or option.type, _grouped(option.limits))))
    meaning = option.text
    # An enumeration of another method is described on the page of that method.
    if option.enum.startswith(message):
        meaning += "".join(f" `{name}`: {text}" for name, text in option.values.items())
    default = _grouped(option.default)
    is_value = default in option.values or (" " not in default and default)
    cells = (f"`{option.name}`", kind, f"`{default}`" if is_value else default, meaning)
    return [cell.replace("|", "\\|") for cell in cells]


def _grouped(text: str) -> str:
    """Write numbers as prose does: 10,000."""
    return re.sub(r"\b\d{4,}\b", lambda number: f"{int(number[0]):,}", text)


def _setting(name: str) -> str:
    return f"`{PREFIX}{name.upper()}` `{flag(name)}`"


def _key(name: str) -> str:
    """The key of the file, which does not name itself."""
    return "" if name == "config_file" else f"`{name}`"


def _default(name: str, field: FieldInfo) -> str:
    if name in _OF_THE_MACHINE:
        return _OF_THE_MACHINE[name]
    if field.default is None:
        return "none"
    if isinstance(field.default, ByteSize):
        return f"`{field.default / 2**20:g}MiB`"
    return f"`{field.default:g}`" if isinstance(field.default, float) else f"`{field.default}`"


def _full_name(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def _labels(family: Metric) -> str:
    return ", ".join(f"`{name}`" for name in family.samples[0].labels if name != "le")


def _order(name: str) -> tuple[int, str]:
    return next(i for i, start in enumerate(_STARTS) if name.startswith(start)), name


def _page(title: str, text: str, head: Sequence[str], rows: Iterable[Sequence[str | None]]) -> str:
    return "\n".join([f"# {title}", "", _NOTE, "", text, *_table(head, rows), ""])


def _table(head: Sequence[str], rows: Iterable[Sequence[str | None]]) -> list[str]:
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]


def main(folder: Path) -> None:
    """Write all pages."""
    for name, write in PAGES.items():
        (folder / name).write_text(write(), encoding="utf-8")
    (folder / "methods").mkdir(exist_ok=True)
    for name, method in methods().items():
        page = method_page((_DOCS / _path(name)).read_text(encoding="utf-8"), method)
        (folder / _path(name)).write_text(page, encoding="utf-8")
    index = (_DOCS / "index.md").read_text(encoding="utf-8")
    (folder / "index.md").write_text(index_page(index, methods()), encoding="utf-8")
    operations = (_DOCS / "operations.md").read_text(encoding="utf-8")
    (folder / "operations.md").write_text(operations_page(operations), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
