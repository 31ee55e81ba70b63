"""Page tokens of stores: the number of the last operation of a page, signed for one list.

A token is valid for the caller and the filter of the page that it came with, also once that
operation is deleted.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import struct

from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason

_NUMBER = struct.Struct("<Q")


class PageTokens:
    """Page tokens that nobody else can make.

    Parameters
    ----------
    signer : Signer or None
        The same for all processes that list the same operations; None for one process.
    """

    def __init__(self, signer: Signer | None = None) -> None:
        self._signer = signer or Signer(secrets.token_bytes(32))

    def write(self, owner: str, query: str, number: int) -> str:
        """Return the token of the page after an operation of this number.

        Parameters
        ----------
        owner : str
            Whose operations are listed.
        query : str
            The filter.
        number : int
        """
        signed = self._signer.sign(_name(owner, query), _NUMBER.pack(number))
        return base64.urlsafe_b64encode(signed).decode()

    def read(self, owner: str, query: str, page_token: str) -> int | None:
        """Return the number after which the next page begins; None for the first page.

        Raises
        ------
        ExplainError
            INVALID_REQUEST for a token that no page of this list had.
        """
        if not page_token:
            return None
        try:
            signed = base64.b64decode(page_token.encode(), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            raise _unknown() from None
        number = self._signer.verify(_name(owner, query), signed)
        if number is None or len(number) != _NUMBER.size:
            raise _unknown()
        return int(_NUMBER.unpack(number)[0])


def _name(owner: str, query: str) -> str:
    return f"page of {owner} by {query}"


def _unknown() -> ExplainError:
    message = (
        "page_token must be the next_page_token of an earlier answer to the same caller and filter,"
        " or empty"
    )
    return ExplainError(Reason.INVALID_REQUEST, message, "page_token")
