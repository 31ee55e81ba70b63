"""Command `serve`: one flag for each setting."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from onnxplain_server.cli.failure import USAGE_ERROR, CommandError, in_short
from onnxplain_server.cli.parts import ServiceParts
from onnxplain_server.cli.requests import setting_flags
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.core.interfaces import Began


def serve(context: typer.Context, **flags: str | bool | None) -> None:
    """Serve gRPC and REST until SIGTERM or SIGINT.

    Each flag is also an environment variable and a key of the --config file. Flags override
    variables, and variables override the file.
    """
    with in_short():
        run_server(context.obj, setting_flags.given(flags), lambda _rest, _grpc: None)


def run_server(parts: ServiceParts, flags: Mapping[str, object], began: Began) -> None:
    """Serve by settings until SIGTERM or SIGINT; CommandError for settings and ports."""
    try:
        parts.serve(flags, began)
    except SettingsError as error:
        raise CommandError("INVALID_SETTING", str(error), exit_code=USAGE_ERROR) from None
    except OSError as error:
        raise CommandError("CANNOT_LISTEN", error.strerror or str(error)) from None


# typer makes the flags from this signature, so no setting lacks one.
serve.__signature__ = setting_flags.signature()  # type: ignore[attr-defined] # functions take attributes
