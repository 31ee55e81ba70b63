"""The lines of the server's log, for people or for machines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from onnxplain_server.telemetry.spans import current

_TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class JsonLines(logging.Formatter):
    """One JSON object per line.

    What a line says of a request stands beside its text: `extra={"fields": {...}}`, and the names
    of the request that the thread works on.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Write a line."""
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
    """Write lines of this level and more severe ones to standard error.

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
