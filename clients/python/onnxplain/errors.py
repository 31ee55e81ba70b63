"""Error of every failed call; importable without grpc."""

from __future__ import annotations

from types import TracebackType


class ExplainError(Exception):
    """A call that ended without an answer, whoever ended it.

    Parameters
    ----------
    reason : str
        What to act upon, like "MISSING_COLUMN"; the server's vocabulary. Where the call
        never reached the service, or was ended on the way, the same as `code`.
    message : str
        For people: which input, which rule, what to do.
    field : str
        Path of the request's field, like "methods[0].interactions.features"; may be empty.
    code : str
        Name of the gRPC code, like "INVALID_ARGUMENT"; "UNAVAILABLE" where nobody answered.
    retry_seconds : float, optional
        After how long the same may succeed, as the server says; None where it does not.

    Examples
    --------
    >>> try:
    ...     client.explain(model, frame, onnxplain.Interactions(features=["agee", "bmi"]))
    ... except onnxplain.ExplainError as error:
    ...     print(error.reason, error.field)
    UNKNOWN_FEATURE methods[0].interactions.features
    """

    def __init__(
        self,
        reason: str,
        message: str,
        field: str,
        code: str,
        retry_seconds: float | None = None,
    ) -> None:
        super().__init__(reason, message, field, code, retry_seconds)
        self.reason = reason
        self.message = message
        self.field = field
        self.code = code
        self.retry_seconds = retry_seconds

    def __str__(self) -> str:
        """Return the message, the field if there is one, and the reason."""
        where = f"{self.field}: " if self.field else ""
        return f"{where}{self.message} ({self.reason})"


class ShortTracebacks:
    """Context in which an error for the caller forgets the frames and errors below it.

    Those are an ExplainError, a file that cannot be read, and what this package says of arguments.
    Users see their call, and the error in one line; `__context__` still has the error of grpc. An
    error of another library, or of a mistake in this one, keeps its frames.
    """

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and (
            isinstance(error, ExplainError | OSError)
            or (isinstance(error, TypeError | ValueError) and _is_raised_here(error, trace))
        ):
            error.__cause__ = None  # also suppresses the context in what is printed
            error.__traceback__ = None


def _is_raised_here(error: Exception, trace: TracebackType | None) -> bool:
    """Tell whether this package raised an error, by its deepest frame and by its text."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    return str(module).partition(".")[0] == "onnxplain" and "\n" not in str(error)
