"""Size limits of models, tables and bodies, with the settings that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnxplain_server.core.errors import ExplainError, Reason

_REASONS = {"model": Reason.MODEL_TOO_LARGE, "table": Reason.TABLE_TOO_LARGE}
_REMEDIES = {"model": "", "table": "; send fewer rows or columns, or a Parquet file"}


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """Size limit of a model or a table.

    Attributes
    ----------
    part : str
        "model" or "table".
    byte_count : int
    setting : str
        Name of the setting that it comes from.
    """

    part: str
    byte_count: int
    setting: str

    def check(self, size: int) -> None:
        """Refuse an inline part that is too large; may raise MODEL_TOO_LARGE, TABLE_TOO_LARGE."""
        if size > self.byte_count:
            raise ExplainError(
                _REASONS[self.part],
                f"the {self.part} has {size:,} bytes; this server takes at most "
                f"{self.byte_count:,}, also as an upload (setting {self.setting})"
                f"{_REMEDIES[self.part]}",
                self.part,
            )

    def upload_refusal(self) -> ExplainError:
        """Make the error for an upload of more bytes, which are not counted to the end."""
        return ExplainError(
            _REASONS[self.part],
            f"the {self.part} is larger than {self.byte_count:,} bytes, the limit of this server "
            f"for uploads (setting {self.setting}){_REMEDIES[self.part]}",
            self.part,
        )


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Size limits of REST bodies: an upload may be larger than other bodies.

    Attributes
    ----------
    byte_count : int
        Limit of bodies that are no uploads.
    uploads : mapping of path to SizeLimit
        Limits of PUT requests.
    """

    byte_count: int
    uploads: Mapping[str, SizeLimit] = field(default_factory=dict)

    def upload(self, method: str, path: str) -> SizeLimit | None:
        """Return the limit of an upload; None for other requests."""
        return self.uploads.get(path) if method == "PUT" else None

    def refusal(self) -> str:
        """Tell the limit of bodies that are no uploads, and the uploads that are allowed."""
        told = f"the body has more than {self.byte_count:,} bytes, the limit of this server"
        uploads = " or ".join(
            f"PUT {path} (at most {limit.byte_count:,} bytes, setting {limit.setting})"
            for path, limit in self.uploads.items()
        )
        if not uploads:
            return told
        return (
            f"{told} (setting max_message_bytes); upload a large file by {uploads}, and send its id"
        )
