"""Log format of the server: text lines for people, or JSON lines for machines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from onnxplain_server.telemetry.spans import current

_TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class JsonLines(logging.Formatter):
    """Formatter that writes one JSON object per line.

    Adds the fields of `extra={"fields": {...}}`, and the ids of the thread's current request.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a line."""
        line = {
            "time": _time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **current().names,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level: str, form: str) -> None:
    """Log messages of this level and above to standard error.

    Parameters
    ----------
    form : str
        "text" or "json".
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler])


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
