"""Command `serve`: one flag for each setting."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from onnxplain_server.cli.failure import USAGE_ERROR, CommandError, in_short
from onnxplain_server.config.setting_names import PREFIX, SettingsError, flag
from onnxplain_server.config.settings import Settings


def serve(context: typer.Context, **flags: str | bool | None) -> None:
    """Serve gRPC and REST until SIGTERM or SIGINT.

    Each flag is also an environment variable and a key of the --config file. Flags override
    variables, and variables override the file.
    """
    values = {name: value for name, value in flags.items() if value is not None}
    with in_short():
        try:
            context.obj.serve(values)
        except SettingsError as error:
            raise CommandError("INVALID_SETTING", str(error), exit_code=USAGE_ERROR) from None
        except OSError as error:
            raise CommandError("CANNOT_LISTEN", error.strerror or str(error)) from None


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    """Make the flag of a setting; the settings parse its text, like a variable's."""
    help_text = f"{field.description} {PREFIX}{name.upper()}{_default(field.default)}"
    name_of_flag, kind = flag(name), inspect.Parameter.KEYWORD_ONLY
    form: Any = Annotated[str | None, typer.Option(name_of_flag, metavar="VALUE", help=help_text)]
    if field.annotation is bool:
        switch = f"{name_of_flag}/--no-{name_of_flag.removeprefix('--')}"
        form = Annotated[bool | None, typer.Option(switch, help=help_text)]
    return inspect.Parameter(name, kind, default=None, annotation=form)


def _default(value: Any) -> str:
    if value is None:
        return ""
    human = getattr(value, "human_readable", None)
    return f"  [default: {human(separator='') if human else value}]"


def _signature() -> inspect.Signature:
    context = inspect.Parameter(
        "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    settings = Settings.model_fields.items()
    return inspect.Signature([context, *(_parameter(name, field) for name, field in settings)])


# typer makes the flags from this signature, so no setting lacks one.
serve.__signature__ = _signature()  # type: ignore[attr-defined] # functions take attributes
