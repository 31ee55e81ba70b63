"""Failure of a command: one line on standard error, and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from onnxplain.errors import ExplainError as ClientError

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.plots.elements.labels import clean

FAILED = 1
USAGE_ERROR = 2
INTERRUPTED = 130


class CommandError(Exception):
    """Failure outside the request, like an unreadable file.

    Parameters
    ----------
    reason : str
        Stable identifier in upper case.
    message : str
        For people.
    exit_code : int
    """

    def __init__(self, reason: str, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.exit_code = exit_code


@contextmanager
def in_one_line() -> Iterator[None]:
    """Report expected errors in one line and end the command; others keep their traceback."""
    try:
        yield
    except ExplainError as error:
        if error.reason is Reason.CANCELLED:
            raise typer.Exit(INTERRUPTED) from None
        _fail(error.message, error.reason.name, error.field)
    except ClientError as error:
        _fail(error.message, error.reason, error.field)
    except CommandError as error:
        _fail(error.message, error.reason, exit_code=error.exit_code)


def _fail(message: str, reason: str, field: str = "", exit_code: int = FAILED) -> None:
    # Do not repeat a field that the message already names.
    prefix = f"{field}: " if field and field not in message else ""
    # Names in the message may contain line breaks or terminal escape codes.
    line = clean(" ".join(f"{prefix}{message}".split()))
    print(f"onnxplain: error: {line} ({reason})", file=sys.stderr)  # noqa: T201 - output of a command
    raise typer.Exit(exit_code)
