"""Command `ui`: the page on this machine, at a server of its own, in the browser."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import onnxplain
import typer

from onnxplain_server.cli.failure import CommandError, in_short
from onnxplain_server.cli.requests.prediction_flags import MODEL_FILE
from onnxplain_server.core.systems.confinement import UNCONFINED, can_confine

_HOST = "127.0.0.1"
_CALLER = "ui"


def ui(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help=f"{MODEL_FILE}. Default: chosen on the page."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]", help="CSV, Parquet or Arrow file. Default: chosen on the page."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page; 0 picks a free one.")
    ] = 0,
    *,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the browser.")
    ] = True,
) -> None:
    """Open the page for MODEL and TABLE in a browser, at a server of its own.

    The server listens on this machine only, and ends with Ctrl-C. The address that is printed holds
    the token without which it answers nobody. Other settings than the ports are those of `serve`,
    from variables and ONNXPLAIN_CONFIG_FILE.
    """
    from onnxplain_server.cli.serve import run_server  # noqa: PLC0415 - loads the settings

    with in_short():
        files = _file(model), _file(table)
        with tempfile.TemporaryDirectory() as folder:
            token, tokens_file = _new_token(Path(folder))
            flags = _flags(port, tokens_file)
            run_server(context.obj, flags, partial(_open, *files, token, opens_browser=browser))


def _flags(port: int, tokens_file: Path) -> dict[str, object]:
    """Return the settings of a server that only this machine reaches."""
    flags: dict[str, object] = {
        "host": _HOST,
        "rest_host": _HOST,
        "rest_port": port,
        "grpc_port": 0,
        "metrics_port": 0,
        "tokens_file": str(tokens_file),
        "page": True,
        "log_level": "warning",
    }
    # The user's own files, as of the other commands.
    return flags if can_confine() else flags | {"isolation": "none"}


def _file(path: str | None) -> Path | None:
    if path is None:
        return None
    if not Path(path).is_file():
        raise CommandError("FILE_UNREADABLE", f"cannot read {path}: there is no such file")
    return Path(path)


def _new_token(folder: Path) -> tuple[str, Path]:
    """Make the token of the page's reader, and the file by which the server knows it."""
    from onnxplain_server.adapters.access.tokens import new_token, token_line  # noqa: PLC0415

    token, file = new_token(), folder / "tokens"
    file.write_text(token_line(_CALLER, token) + "\n", encoding="utf-8")
    return token, file


def _open(
    model: Path | None,
    table: Path | None,
    token: str,
    rest_port: int,
    grpc_port: int,
    *,
    opens_browser: bool,
) -> None:
    """Upload the files, print the address of the page, and open it."""
    if not can_confine():
        print(UNCONFINED, file=sys.stderr)  # noqa: T201 - for people
    query: dict[str, str] = {}
    with onnxplain.connect(f"{_HOST}:{grpc_port}", token=token) as client:
        if model is not None:
            query |= {"model": client.upload_model(model).id, "modelName": model.name}
        if table is not None:
            query |= {"table": client.upload_table(table).id, "tableName": table.name}
    query["token"] = token
    address = f"http://{_HOST}:{rest_port}/#/start?{urlencode(query)}"
    print(f"onnxplain is at {address}\nCtrl-C ends it.", flush=True)  # noqa: T201 - the output
    if opens_browser:
        webbrowser.open(address)
