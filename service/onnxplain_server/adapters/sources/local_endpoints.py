"""Endpoints of stores for the user of this process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LocalEndpoints:
    """Endpoints that the user's variables name; empty: those of the stores themselves.

    Attributes
    ----------
    s3, google, registry : str
    region : str
        Of s3.
    """

    s3: str = ""
    google: str = ""
    registry: str = ""
    region: str = "us-east-1"
