"""Protocol between transports and what fetches models and tables by their URIs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class FetchControl(Protocol):
    """Deadline and cancellation of a request, as a fetch sees them."""

    @property
    def deadline(self) -> float:
        """Monotonic time; may be infinite."""

    def check(self, when: str) -> None:
        """Raise ExplainError if the request is cancelled or late; `when` ends the message."""


@dataclass(frozen=True, slots=True, eq=False)
class FetchedFile:
    """File that was fetched.

    Attributes
    ----------
    content : bytes or bytearray
        Of a table: the needed rows and columns, as an Arrow stream.
    receipt : bytes
        Serialised Receipt with the sources alone.
    """

    content: bytes | bytearray
    receipt: bytes


class Sources(Protocol):
    """Models and tables where they lie, by their URIs.

    All methods raise ExplainError: INVALID_REQUEST, SOURCE_NOT_LISTED, SOURCE_NOT_FOUND,
    SOURCE_FORBIDDEN, SOURCE_CHANGED, SOURCE_UNAVAILABLE, and those of `FetchControl.check`.
    """

    def read_model(self, message: bytes, byte_limit: int, control: FetchControl) -> FetchedFile:
        """Read the file of a serialised Model with a URI; also MODEL_TOO_LARGE."""

    def read_table(
        self,
        message: bytes,
        request: bytes,
        features: tuple[str, ...],
        byte_limit: int,
        control: FetchControl,
    ) -> FetchedFile:
        """Read what is needed of a serialised Table with URIs; also errors of tables.

        Parameters
        ----------
        message : bytes
        request : bytes
            Serialised ExplainRequest, whose model and table are not looked at.
        features : tuple of str
            Features that the model names.
        byte_limit : int
            Largest size of what is read.
        control : FetchControl
        """

    def check_writable(self, uri: str) -> None:
        """Raise where a result may not be written to an address."""

    def write(self, uri: str, content: bytes, control: FetchControl) -> None:
        """Write a result."""
