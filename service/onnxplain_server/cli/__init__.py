"""Command line `onnxplain`: turns files and flags into a request, and prints or stores the answer.

Read `explain`, `request`, `methods`, `backend`, `output`. Commands call a runner or a server and
compute nothing themselves. Standard output has only the answer.
"""

from __future__ import annotations

import typer

from onnxplain_server.cli.describe import describe
from onnxplain_server.cli.explain import explain
from onnxplain_server.cli.failure import CommandError
from onnxplain_server.cli.health import health
from onnxplain_server.cli.methods import MethodCommand
from onnxplain_server.cli.options import options
from onnxplain_server.cli.parts import ServiceParts
from onnxplain_server.cli.plot import plot
from onnxplain_server.cli.serve import serve
from onnxplain_server.cli.token import token
from onnxplain_server.cli.version import version

__all__ = ["CommandError", "ServiceParts", "app"]

app = typer.Typer(
    name="onnxplain",
    help="Explain what an ONNX model has learned.",
    epilog=(
        "Exit codes: 0 success; 1 error, in short on the last line of standard error; 2 usage "
        "error; 130 interrupted by Ctrl-C."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # errors in one line, without a frame
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=MethodCommand)(explain)
app.command()(options)
app.command()(describe)
app.command()(plot)
app.command()(health)
app.command()(serve)
app.command()(token)
app.command()(version)
