"""Page tokens of stores: the number of the last operation of a page."""

from __future__ import annotations

from onnxplain_server.core.errors import ExplainError, Reason

_DIGIT_COUNT = 18


def last_number(page_token: str) -> int | None:
    """Return the number after which the next page begins; None for the first page.

    Raises
    ------
    ExplainError
        INVALID_REQUEST for a token that no page had.
    """
    if not page_token:
        return None
    if page_token.isascii() and page_token.isdigit() and len(page_token) <= _DIGIT_COUNT:
        return int(page_token)
    message = "page_token must be the next_page_token of an earlier answer, or empty"
    raise ExplainError(Reason.INVALID_REQUEST, message, "page_token")
