"""Command `replay`: a kept answer made again, and compared to the last bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from onnxplain_server.cli import backend, files
from onnxplain_server.cli.connection import (
    AllowUnencryptedToken,
    CaFile,
    CertificateFile,
    Connection,
    Endpoint,
    KeyFile,
    Timeout,
    Tls,
    TokenFile,
)
from onnxplain_server.cli.failure import DIFFERS, in_short
from onnxplain_server.cli.output import progress
from onnxplain_server.cli.output.formats import DEFAULT_OUTPUT, DescriptionOutput, is_for_terminal
from onnxplain_server.cli.requests import request
from onnxplain_server.cli.terminal.error_lines import Names
from onnxplain_server.wire import canonical

if TYPE_CHECKING:
    from onnxplain_server.wire.comparisons.replays import Replay


# Long: every flag is a parameter.
def replay(
    context: typer.Context,
    answer: Annotated[str, typer.Argument(help="JSON output of `explain`.")],
    *,
    model: Annotated[
        str | None, typer.Option(metavar="FILE", help="The model of the answer, if it had one.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table of the answer, if it had one.")
    ] = None,
    output: Annotated[DescriptionOutput | None, typer.Option(help=DEFAULT_OUTPUT)] = None,
    endpoint: Endpoint = None,
    timeout: Timeout = None,
    token_file: TokenFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    allow_unencrypted_token: AllowUnencryptedToken = False,
) -> None:
    """Make an answer again from its receipt, and compare both; exit code 3 where they differ.

    The receipt has the request, so that model and table are all that is needed. What differs is
    told by field, with what was not as it was: files, versions, kind of processor.

    onnxplain replay answer.json --model model.onnx --table rows.csv
    """
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    paths = {"model": model, "table": table, "answer": answer}
    shown = {name: request.shown_path(path) for name, path in paths.items() if path}
    with in_short(Names(flags={}, files=shown)):
        from onnxplain_server.wire.comparisons.replays import (  # noqa: PLC0415 - help needs no protobuf
            compare_replay,
            request_of,
        )

        files.check_one_stdin([model, table, answer])
        kept = canonical.decode(files.read(answer), ExplainResponse)
        asked = request_of(kept)
        if model:
            asked.model.CopyFrom(request.model_message(model))
        if table:
            asked.table.CopyFrom(request.table_message(table))
        chosen = backend.choose(context.obj, endpoint, timeout, connection)
        with progress.bar() as on_progress:
            found = compare_replay(kept, chosen.explain(asked, on_progress))
        as_table = output is DescriptionOutput.TABLE or (output is None and is_for_terminal(None))
        text = "\n".join(_lines(found)) if as_table else json.dumps(_plain(found), indent=2)
        with files.destination(None) as write:
            write(f"{text}\n".encode())
    if found.differences:
        raise typer.Exit(DIFFERS)


def _lines(found: Replay) -> Iterator[str]:
    """Tell a replay in lines: what differs, and what was not as it was."""
    if not found.differences:
        yield f"The same to the last bit: {found.number_count:,} values."
    for each in found.differences:
        by = "" if each.largest is None else f", by up to {each.largest:.2g} of the largest"
        yield f"{each.field}: {each.differing_count:,} of {each.value_count:,} differ{by}"
    if found.causes:
        yield ""
        yield "Not as it was:"
        yield from (f"- {cause}" for cause in found.causes)
    elif found.differences:
        yield ""
        yield "Files, versions, processor and engine are those of the first time."


def _plain(found: Replay) -> dict[str, object]:
    """Return a replay as JSON has it."""
    return {
        "isSame": not found.differences,
        "valueCount": found.number_count,
        "differences": [
            {
                "field": each.field,
                "differingCount": each.differing_count,
                "valueCount": each.value_count,
                "largest": each.largest,
            }
            for each in found.differences
        ],
        "causes": list(found.causes),
    }
