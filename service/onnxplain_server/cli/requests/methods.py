"""Methods on the command line: --method NAME, each followed by its --set OPTION=VALUE."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from google.protobuf.json_format import MessageToDict
from onnxplain.suggestions import did_you_mean
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.table_pb2 import Columns
from typer.core import TyperCommand

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.cli.requests.text_columns import TextColumns
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.wire import canonical

METHOD_NAMES = tuple(method.name for method in MethodOptions.DESCRIPTOR.fields)

_DIGITLESS = re.compile(r"\A(-?)\.(?=\d)")
"""Beginning of a number like .9, which is no JSON."""
_KEY = "onnxplain.methods"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_PART = re.compile(r"""("(?:[^"]|"")*"|'[^']*'|`[^`]*`|.)""", re.DOTALL)


@dataclass(slots=True)
class _MethodFlags:
    """A --method flag and the --set flags that belong to it, as typed."""

    name: str
    settings: list[str] = field(default_factory=list)


class MethodCommand(TyperCommand):
    """Command that keeps the order of --method and --set, which typer does not."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Record the order, then parse as usual."""
        if not ctx.resilient_parsing:
            values, _, order = self.make_parser(ctx).parse_args(list(args))
            names = [param.name for param in order if param.name in ("method", "set_")]
            ctx.meta[_KEY] = _grouped(names, {name: list(values.get(name) or ()) for name in names})
        return super().parse_args(ctx, args)


def from_context(context: typer.Context, texts: TextColumns) -> list[MethodOptions]:
    """Return the methods of the command line.

    Parameters
    ----------
    context : typer.Context
    texts : TextColumns
        Called where an option has the rows of a CSV file.

    Raises
    ------
    UsageFault
        If a method has no such option, or the value is invalid.
    """
    return [_message(flags, texts) for flags in context.meta[_KEY]]


def _grouped(
    names: Sequence[str | None], values: dict[str | None, list[str]]
) -> list[_MethodFlags]:
    """Assign each --set to the --method before it; early ones to the only method."""
    methods: list[_MethodFlags] = []
    early: list[str] = []
    for name in names:
        value = values[name].pop(0)
        if name == "method":
            methods.append(_MethodFlags(value))
        else:
            (methods[-1].settings if methods else early).append(value)
    if early and len(methods) != 1:
        raise UsageFault("must follow the --method that it belongs to", f"--set {early[0]}")
    if early:
        methods[0].settings[:0] = early
    return methods


def _message(flags: _MethodFlags, texts: TextColumns) -> MethodOptions:
    """Parse one method; its name is as in the contract, or as in JSON, in any case."""
    name = flags.name.lower()
    methods = MethodOptions.DESCRIPTOR.fields
    matches = [m for m in methods if name in (m.name, m.json_name.lower())]
    if not matches:
        raise UsageFault(
            f"no method is named {flags.name!r}{did_you_mean(flags.name, METHOD_NAMES)}; there are "
            f"{', '.join(METHOD_NAMES)}",
            "--method",
        )
    (method,) = matches
    options = dict(_option(method, setting, texts) for setting in flags.settings)
    return canonical.to_message({method.name: options}, MethodOptions)


def _option(method: Any, setting: str, texts: TextColumns) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals:
        raise UsageFault(f"takes OPTION=VALUE, not {setting!r}", "--set")
    options = [o for o in method.message_type.fields if name in (o.name, o.json_name)]
    if not options:
        known = [option.name for option in method.message_type.fields]
        similar = did_you_mean(name, known)
        raise UsageFault(
            f"{method.name} has no option {name!r}{similar}; it has {', '.join(known)}", "--set"
        )
    (option,) = options
    return option.name, _value(option, text, texts)


def _value(option: Any, text: str, texts: TextColumns) -> Any:
    """Parse a value as JSON, else take the text itself; text of a list has commas between."""
    try:
        value = json.loads(_DIGITLESS.sub(r"\g<1>0.", text))
    except ValueError:
        value = text
    if option.message_type is Columns.DESCRIPTOR and not isinstance(value, dict):
        return _rows(text, option.name, texts)
    if option.is_repeated:
        entries = value if isinstance(value, list) else _split(text)
        return [_entry(option, entry) for entry in entries]
    # A column may be called 2020 or true.
    is_text = option.type == option.TYPE_STRING
    return text if is_text and not isinstance(value, str) else value


def _rows(name: str, option: str, texts: TextColumns) -> Any:
    """Read a file of a table as columns, in canonical JSON; those without types by the model."""
    # Other options read no table, and load none of this.
    from onnxplain.table_files import from_bytes  # noqa: PLC0415

    from onnxplain_server.wire import table  # noqa: PLC0415

    try:
        content = Path(name).read_bytes()
    except OSError as error:
        problem = f"takes rows as JSON, or the name of a file; {name}: {error.strerror}"
        raise UsageFault(problem, f"--set {option}") from None
    try:
        rows = table.read(from_bytes(content))
    except ExplainError as error:
        raise UsageFault(f"{name}: {error.message}", f"--set {option}") from None
    if rows.texts is not None:
        rows = rows.with_texts(texts(rows.names))
    columns = table.to_columns(rows.names, [*rows.columns.values()])
    return MessageToDict(Columns(columns=columns))


def _split(text: str) -> list[str]:
    """Split at commas outside of parentheses and quotes; double quotes around an entry go."""
    entries, depth = [""], 0
    for part in _PART.findall(text):
        depth += (part == "(") - (part == ")")
        if part == "," and not depth:
            entries.append("")
        else:
            entries[-1] += part
    stripped = (entry.strip() for entry in entries)
    return [e[1:-1].replace('""', '"') if _QUOTED.fullmatch(e) else e for e in stripped if e]


def _entry(option: Any, entry: Any) -> Any:
    """Write names as a group where the option takes groups: a list of names, or one name."""
    if (names := _names_field(option)) is None or isinstance(entry, dict):
        return entry
    return {names: entry if isinstance(entry, list) else [str(entry)]}


def _names_field(option: Any) -> str | None:
    """Return the first field of an option's messages if that is a list of names."""
    if option.message_type is None:
        return None
    first = option.message_type.fields[0]
    return first.name if first.is_repeated and first.type == first.TYPE_STRING else None
