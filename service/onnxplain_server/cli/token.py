"""Command `token`: makes an access token for a caller."""

from __future__ import annotations

from typing import Annotated

import typer

from onnxplain_server.adapters.access.tokens import is_name, new_token, token_line
from onnxplain_server.cli.failure import UsageFault


def token(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the caller: letters, digits and ._@/-")
    ],
) -> None:
    """Make a token: print it, and on a second line its entry for the server's --tokens-file."""
    if not is_name(name):
        raise UsageFault("a name needs 1 to 128 letters, digits and ._@/-, a letter or digit first")
    secret = new_token()
    typer.echo(secret)
    typer.echo(token_line(name, secret))
