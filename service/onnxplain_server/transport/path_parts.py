"""Parts of paths: ids, from which verbs behind a colon are told apart, so that 405 tells true."""

from __future__ import annotations

import re

from flask import Flask
from werkzeug.routing import BaseConverter


class _PlainId(BaseConverter):
    """Id without a colon, such as that of an operation."""

    regex = "[^/:]+"


class _FileId(BaseConverter):
    """Id of a file, "sha256:" and a digest; a verb does not belong to it."""

    regex = "(?![^/]+:(?:explain|predict)$)[^/]+"


def install(app: Flask) -> None:
    """Let the routes of an application name these parts, as `<plain:name>` and `<file:name>`."""
    app.url_map.converters.update(plain=_PlainId, file=_FileId)


def shown(rule: str) -> str:
    """Return a rule as metrics, spans and documents show it, without the kinds of its parts."""
    return re.sub(r"<\w+:", "<", rule)
