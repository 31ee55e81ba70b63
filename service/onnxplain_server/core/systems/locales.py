"""Locale of the system's C library for change of case."""

from __future__ import annotations

import sys

CASE_LOCALE = "C.UTF-8" if sys.platform == "linux" else ""
"""A locale that is always there, whose upper and lower case are Unicode's, letter by letter.

Empty where none is known: glibc brings this one.
"""
