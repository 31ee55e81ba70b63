"""Failure of a command: a short last line on standard error, and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from onnxplain.errors import ExplainError as ClientError

from onnxplain_server.cli.terminal.error_lines import Names, error_line, printed
from onnxplain_server.cli.terminal.verbosity import is_verbose
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.report.renderer import RendererMissingError

FAILED = 1
USAGE_ERROR = 2
DIFFERS = 3
RULE_FAILED = 4
INTERRUPTED = 130

_NO_NAMES = Names()

_DLL_MISSING = "DLL load failed"
"""Beginning of an ImportError on Windows."""


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


class UsageFault(typer.BadParameter):
    """Wrong use of a flag: the message, with what is right, follows the usage.

    Parameters
    ----------
    message : str
    flag : str
        What the user typed, like "--set features"; empty if it is no single flag.
    """

    def __init__(self, message: str, flag: str = "") -> None:
        super().__init__(message, param_hint=flag or None)


@contextmanager
def in_short(names: Names = _NO_NAMES) -> Iterator[None]:
    """Report expected errors with a short last line and end the command.

    Other errors keep their traceback.
    """
    try:
        yield
    except ExplainError as error:
        if error.reason is Reason.CANCELLED:
            raise typer.Exit(INTERRUPTED) from None
        _fail(_line(error.message, error.reason.name, error.field, names))
    except ClientError as error:
        _fail(_line(error.message, error.reason, error.field, names))
    except CommandError as error:
        _fail(f"onnxplain: error: {printed(error.message)} ({error.reason})", error.exit_code)
    except RendererMissingError as error:
        _fail(f"onnxplain: error: {printed(str(error))} (RENDERER_MISSING)")
    except ImportError as error:
        if not str(error).startswith(_DLL_MISSING):
            raise
        way = "install Microsoft's Visual C++ Redistributable, which onnxruntime needs"
        cause = printed(str(error)).rstrip(".")
        _fail(f"onnxplain: error: {cause}; {way} (LIBRARY_MISSING)")


def _line(message: str, reason: str, path: str, names: Names) -> str:
    return error_line(message, reason, path, names, is_whole=is_verbose())


def _fail(line: str, exit_code: int = FAILED) -> None:
    print(line, file=sys.stderr)  # noqa: T201 - output of a command
    raise typer.Exit(exit_code)
