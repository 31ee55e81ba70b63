"""Program: take one rule away after the other; report which ways are open then, and in none."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from onnxplain_server.adapters.network_processes.confined_process import confine_to_network
from onnxplain_server.adapters.sandbox import calls, landlock
from onnxplain_server.adapters.sandbox.calls import CheckedCall

from escapes.attempts import load, outcome
from escapes.ways import Targets, Way, carrying, others

_MEMORY_BYTES = 2**29
NONE = "none"

_FACTORIES = ("common_rules", "network_rules")


def _without(
    number: int, argument: int, made: Callable[[int], Iterable[CheckedCall]], column: int
) -> Iterator[CheckedCall]:
    """Return rules, one of which takes any value of an argument."""
    for rule in made(column):
        if rule.number == number:
            kept = (
                tuple(check for check in checks if check.argument != argument)
                for checks in rule.alternatives
            )
            rule = replace(rule, alternatives=tuple(kept))  # noqa: PLW2901
        yield rule


def _checks(column: int) -> Iterator[tuple[int, int]]:
    """Yield number and argument of each check."""
    for name in _FACTORIES:
        for rule in getattr(calls, name)(column):
            for argument in sorted({check.argument for check in rule.alternatives[0]}):
                yield rule.number, argument


def _open_ways(ways: Mapping[str, Way], port: int) -> list[str]:
    """Confine a fork; return the ways that are open to it."""
    read, write = os.pipe()
    if os.fork() == 0:
        confine_to_network(_MEMORY_BYTES, 2, {port}, [])
        found = [name for name, way in ways.items() if outcome(way) != "refused"]
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as report:  # noqa: PTH123 - a descriptor
        found = json.loads(report.read())
    os.wait()
    return list(found)


def main() -> None:
    """Report on standard output. Without Landlock: what it refuses alone is open in each."""
    column = int(os.uname().machine == "aarch64")
    load("")
    targets, connected = Targets(**json.loads(sys.argv[1])), socket.socket()
    ways = carrying(targets) | others(targets, connected.fileno())
    vars(landlock)["restrict"] = lambda *_: False
    found = {NONE: _open_ways(ways, 1)}
    made = {name: getattr(calls, name) for name in _FACTORIES}
    for number, argument in [*_checks(column)]:
        for name in _FACTORIES:
            setattr(calls, name, partial(_without, number, argument, made[name]))
        found[f"argument {argument} of call {number}"] = _open_ways(ways, 1)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
