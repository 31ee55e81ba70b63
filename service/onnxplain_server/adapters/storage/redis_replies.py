"""Validation of Redis replies: on a damaged connection, a reply can be of any type."""

from __future__ import annotations

from redis import RedisError


class DamagedReplyError(RedisError):
    """Reply of a type that the command does not have."""


def value(reply: object) -> bytes | None:
    """Check the reply to GET; DamagedReplyError, as for all replies here."""
    if reply is None or isinstance(reply, bytes):
        return reply
    raise DamagedReplyError(f"{type(reply).__name__} for a value")


def values(reply: object, count: int) -> list[bytes | None]:
    """Check the reply to MGET of `count` keys."""
    if not isinstance(reply, list) or len(reply) != count:
        raise DamagedReplyError("no list of that length")
    return [value(item) for item in reply]


def scored(reply: object) -> list[tuple[bytes, float]]:
    """Check the reply to ZRANGE with scores."""
    if not isinstance(reply, list):
        raise DamagedReplyError("no list")
    return [_pair(item) for item in reply]


def _pair(reply: object) -> tuple[bytes, float]:
    match reply:
        case (bytes() as member, float() as score) | [bytes() as member, float() as score]:
            return member, score
        case _:
            raise DamagedReplyError("no member with its score")
