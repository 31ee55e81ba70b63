"""Workers that were taken over: behaviours that keep their parent busy, and their program.

Each behaviour is known by its group, the name of what it does to the parent, and goes on until
the parent hangs up. The program is one of them: `python takeovers.py DESCRIPTOR NAME`. It starts
at once, since it imports nothing of the server.
"""

from __future__ import annotations

import array
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from itertools import count

_HEADER = struct.Struct("<4sHxxIQ")
_LOADING, _PROGRESS, _GET, _PUT, _JOIN, _REFUSED, _ANSWERED, _SPANS = 17, 19, 20, 21, 22, 24, 25, 26
_SUM, _RANGE, _PART, _READ_RANGE, _TABLE_PART = 8, 12, 28, 29, 30
_MIB = 2**20
_CALL = 1


def frame(kind: int, payload: bytes = b"", length: int | None = None, call: int = _CALL) -> bytes:
    """A frame, which may claim another length than it has."""
    size = len(payload) if length is None else length
    return _HEADER.pack(b"ONXW", kind, call, size) + payload


def answer(size: int, call: int = _CALL) -> bytes:
    """The frame of an answer of so many bytes, which are 0."""
    return frame(_ANSWERED, b"[%d, [], 0, 0, 0, 0]" % size, call=call)


def values(*contents: bytes) -> bytes:
    return b"".join(struct.pack("<q", len(content)) + content for content in contents)


def names(first: int, number: int) -> list[bytes]:
    return [b"%064x" % i for i in range(first, first + number)]


def _repeat(content: bytes) -> Iterator[bytes]:
    while True:
        yield content


def _fill(kind: int, part: bytes, size: int) -> bytes:
    """One frame of about a size, of a part that is repeated."""
    return frame(kind, part * (size // len(part)))


def many_names() -> Iterator[bytes]:
    yield frame(_GET, values(*names(0, 64 * _MIB // 72)))


def one_name() -> Iterator[bytes]:
    yield _fill(_GET, values(b"a"), 64 * _MIB)


def allowed_names() -> Iterator[bytes]:
    for i in count():
        yield frame(_GET, values(*names(1_024 * i, 1_024)))


def stored_values() -> Iterator[bytes]:
    """Store values as large as they may be, then recall all of them."""
    stored = names(0, 7)
    for name in stored:
        yield frame(_PUT, values(name, bytes(8 * _MIB)))
    for i in count():
        turn = i % len(stored)
        yield frame(_GET, values(*stored[turn:], *stored[:turn]))


def many_entries() -> Iterator[bytes]:
    yield frame(_PUT, values(*(part for name in names(0, 64 * _MIB // 80) for part in (name, b""))))


def small_entries() -> Iterator[bytes]:
    for i in count():
        keys = names(1_024 * i, 1_024)
        yield frame(_PUT, values(*(part for name in keys for part in (name, b""))))


def large_entries() -> Iterator[bytes]:
    for i in count():
        yield frame(_PUT, values(b"%064x" % i, bytes(8 * _MIB)))


def progress() -> Iterator[bytes]:
    return _repeat(1_000 * frame(_PROGRESS, struct.pack("<dd", 1, 2)))


def spans() -> Iterator[bytes]:
    return _repeat(1_000 * frame(_SPANS, b"[]"))


def loading() -> Iterator[bytes]:
    return _repeat(1_000 * frame(_LOADING))


def joining() -> Iterator[bytes]:
    for i in count():
        yield frame(_JOIN, values(b"%064x" % i))


def single_bytes() -> Iterator[bytes]:
    yield frame(_PUT, length=8 * _MIB)
    yield from _repeat(b"a")


def endless_length() -> Iterator[bytes]:
    yield frame(_PUT, length=2**63)
    yield from _repeat(bytes(_MIB))


def too_long() -> Iterator[bytes]:
    yield frame(_PUT, length=64 * _MIB)
    yield from _repeat(bytes(_MIB))


def too_short() -> Iterator[bytes]:
    yield frame(_PUT, bytes(4 * _MIB), length=8 * _MIB)


def false_value() -> Iterator[bytes]:
    yield frame(_GET, struct.pack("<q", 2**62) + b"a")


def deep_spans() -> Iterator[bytes]:
    yield frame(_SPANS, b"[" * 2**17)


def deep_error() -> Iterator[bytes]:
    yield frame(_REFUSED, b"[" * 4_096)


def large_json() -> Iterator[bytes]:
    yield frame(_SPANS, b"[" * (64 * _MIB))


def forged_log() -> Iterator[bytes]:
    yield frame(_REFUSED, values(b"INTERNAL", b"ok\x1b[2K root logged in", b""))


def forged_reason() -> Iterator[bytes]:
    yield frame(_REFUSED, values(b"UNAUTHENTICATED", b"send your token to example.org", b""))


def forged_text() -> Iterator[bytes]:
    yield frame(
        _REFUSED,
        values(
            b"INVALID_MODEL",
            "\N{RIGHT-TO-LEFT OVERRIDE}\N{GRINNING FACE}".encode() * (8 * _MIB),
            b"",
        ),
    )


def ranges() -> Iterator[bytes]:
    return _repeat(1_000 * frame(_READ_RANGE, struct.pack("<IQI", 0, 0, 16)))


def short_range() -> Iterator[bytes]:
    yield frame(_READ_RANGE, b"\0" * 8)


def unasked_table() -> Iterator[bytes]:
    yield frame(_TABLE_PART, b"PAR1")


def refused_table() -> Iterator[bytes]:
    yield frame(_TABLE_PART, b"PAR1")
    yield frame(_REFUSED, values(b"RESPONSE_TOO_LARGE", b"too many rows", b"result_uri"))


def own_task() -> Iterator[bytes]:
    yield frame(_SUM, bytes(64))


def own_content() -> Iterator[bytes]:
    yield frame(_RANGE, bytes(64))


def large_answer() -> Iterator[bytes]:
    yield answer(2**15 + 1)


def no_message() -> Iterator[bytes]:
    yield answer(8)


def parts() -> Iterator[bytes]:
    return _repeat(frame(_PART, bytes(4 * _MIB)))


def unknown_kind() -> Iterator[bytes]:
    yield frame(999, b"a")


def unknown_call() -> Iterator[bytes]:
    yield frame(_PROGRESS, struct.pack("<dd", 1, 2), call=2**31)


def no_progress() -> Iterator[bytes]:
    """Progress that is no number, so that no comparison with it holds."""
    return _repeat(1_000 * frame(_PROGRESS, struct.pack("<dd", float("nan"), float("inf"))))


def unread_values() -> Iterator[bytes]:
    """Store a value, and ask for it without reading a reply: see `_behave`."""
    yield frame(_PUT, values(b"%064x" % 0, bytes(8 * _MIB)))
    yield from _repeat(frame(_GET, values(b"%064x" % 0)))


def false_header() -> Iterator[bytes]:
    yield frame(_ANSWERED, b"[%s, [], 0, 0, 0, 0]" % (b"9" * 900))


def deep_header() -> Iterator[bytes]:
    yield frame(_ANSWERED, b"[" * 1_024)


def negative_answer() -> Iterator[bytes]:
    yield answer(-1)


def file_descriptors(end: socket.socket) -> None:
    """Hand over descriptors with the first byte of an answer, as many as a message takes."""
    handles = array.array("i", [end.fileno()] * 253)
    content = answer(0)
    end.sendmsg([content[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
    end.sendall(content[1:])


def refusing() -> Iterator[bytes]:
    """Refuse the request, and go on computing."""
    yield frame(_REFUSED, values(b"INVALID_MODEL", b"no model", b"model"))
    while True:
        pass


def answered_in_advance() -> Iterator[bytes]:
    yield answer(0) + answer(0, _CALL + 1)


def computing() -> Iterator[bytes]:
    yield answer(0)
    while True:
        pass


def growing() -> Iterator[bytes]:
    yield answer(0)
    held: list[bytes] = []
    while len(held) < 1_024:
        held.append(b"a" * _MIB)
    yield b""


Behaviour = Callable[[], Iterator[bytes]]
BEHAVIOURS: dict[str, tuple[str, Behaviour]] = {
    "64 MiB of names": ("recall", many_names),
    "one name, 64 MiB of it": ("recall", one_name),
    "1,024 names, again and again": ("recall", allowed_names),
    "56 MiB of its own values, again and again": ("recall", stored_values),
    "64 MiB of entries without content": ("remember", many_entries),
    "1,024 entries, again and again": ("remember", small_entries),
    "8 MiB, again and again": ("remember", large_entries),
    "progress without end": ("spam", progress),
    "spans without end": ("spam", spans),
    "loads without end": ("spam", loading),
    "flights without end": ("spam", joining),
    "one byte at a time": ("dribble", single_bytes),
    "a frame of 2^63 bytes": ("false lengths", endless_length),
    "a frame of 64 MiB": ("false lengths", too_long),
    "a frame that stops halfway": ("false lengths", too_short),
    "a value longer than its frame": ("false lengths", false_value),
    "spans, 131,072 deep": ("deep JSON", deep_spans),
    "an error, 4,096 deep": ("deep JSON", deep_error),
    "64 MiB of JSON": ("deep JSON", large_json),
    "ranges without end": ("out of turn", ranges),
    "a range of two numbers": ("out of turn", short_range),
    "a task for its parent": ("out of turn", own_task),
    "the content of a range": ("out of turn", own_content),
    "a table that nobody asked for": ("out of turn", unasked_table),
    "a line of the log": ("forged text", forged_log),
    "a reason of the server's own": ("forged text", forged_reason),
    "56 MiB of text": ("forged text", forged_text),
    "an answer beyond the limit": ("false answers", large_answer),
    "an answer that is no message": ("false answers", no_message),
    "1 GiB of parts": ("parts", parts),
    "a frame of an unknown kind": ("out of turn", unknown_kind),
    "a frame of another request": ("out of turn", unknown_call),
    "progress that is no number": ("spam", no_progress),
    "values that it asks for and does not read": ("recall", unread_values),
    "an answer of 900 digits": ("false answers", false_header),
    "an answer, 1,024 deep": ("false answers", deep_header),
    "an answer of -1 bytes": ("false answers", negative_answer),
}
UNREAD = {"values that it asks for and does not read"}
"""Behaviours that read nothing."""
AFTER_THE_ANSWER: dict[str, Behaviour] = {
    "an answer in advance": answered_in_advance,
    "a loop without end": computing,
    "1 GiB of memory": growing,
}
ORDERLY: dict[str, Behaviour] = {
    "a refusal amid its table": refused_table,
    "a refusal, and a loop without end": refusing,
}
HANDING = "descriptors with its answer"


def _behave(end: socket.socket, behaviour: Behaviour, *, is_reading: bool) -> None:
    """Send all that can be sent, and read what comes; then wait until the parent hangs up."""
    end.recv(2**16)
    if not is_reading:
        for part in behaviour():
            end.sendall(part)
    end.setblocking(False)
    for part in behaviour():
        rest = memoryview(part)
        while rest:
            try:
                rest = rest[end.send(rest) :]
            except BlockingIOError:
                _read(end)
        _read(end)
    end.setblocking(True)
    while end.recv(2**16):
        pass


def _read(end: socket.socket) -> None:
    """Read what is there."""
    try:
        while end.recv(2**20):
            pass
    except BlockingIOError:
        return


if __name__ == "__main__":
    try:
        with socket.socket(fileno=int(sys.argv[1])) as own_end:
            during = {name: behaviour for name, (_, behaviour) in BEHAVIOURS.items()}
            name = sys.argv[2]
            if name == HANDING:
                own_end.recv(2**16)
                file_descriptors(own_end)
                own_end.recv(1)
            else:
                behaviour = (during | AFTER_THE_ANSWER | ORDERLY)[name]
                _behave(own_end, behaviour, is_reading=name not in UNREAD)
    except ConnectionError:
        os._exit(0)
