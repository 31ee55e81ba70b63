"""The command `token`."""

from __future__ import annotations

from typing import Annotated

import typer

from onnxplain_server.adapters.access.tokens import is_name, new_token, token_line


def token(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The caller: letters, digits and ._@/-")
    ],
) -> None:
    """Make a token: print it, and on a second line what goes into the server's --tokens-file."""
    if not is_name(name):
        raise typer.BadParameter(
            "a name needs 1 to 128 letters, digits and ._@/-, a letter or digit first"
        )
    made = new_token()
    typer.echo(made)
    typer.echo(token_line(name, made))
