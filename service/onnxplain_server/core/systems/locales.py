"""Locale of the system's C library for change of case."""

from __future__ import annotations

import locale
import sys
from contextlib import suppress

CASE_LOCALE = "C.UTF-8" if sys.platform == "linux" else ""
"""A locale that is always there, whose upper and lower case are Unicode's, letter by letter.

Empty where none is known: glibc brings this one.
"""


def load_case_locale() -> None:
    """Load that locale into this process, which may be unable to read its files later."""
    if CASE_LOCALE:
        with suppress(locale.Error):  # models that need it are then refused by its name
            locale.setlocale(locale.LC_ALL, CASE_LOCALE)
