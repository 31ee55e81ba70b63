"""What Redis replied, taken for no more than it is: on a broken line it can be anything."""

from __future__ import annotations

from redis import RedisError


class DamagedReplyError(RedisError):
    """A reply of another kind than the command has."""


def value(reply: object) -> bytes | None:
    """Return the reply to GET.

    Raises
    ------
    DamagedReplyError
        As everywhere here.
    """
    if reply is None or isinstance(reply, bytes):
        return reply
    raise DamagedReplyError(f"{type(reply).__name__} for a value")


def values(reply: object, count: int) -> list[bytes | None]:
    """Return the reply to MGET of so many keys."""
    if not isinstance(reply, list) or len(reply) != count:
        raise DamagedReplyError("no list of that length")
    return [value(each) for each in reply]


def scored(reply: object) -> list[tuple[bytes, float]]:
    """Return the reply to ZRANGE with scores."""
    if not isinstance(reply, list):
        raise DamagedReplyError("no list")
    return [_pair(each) for each in reply]


def _pair(reply: object) -> tuple[bytes, float]:
    match reply:
        case (bytes() as member, float() as score) | [bytes() as member, float() as score]:
            return member, score
        case _:
            raise DamagedReplyError("no member with its score")
