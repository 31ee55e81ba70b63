"""A client process: asks one question after the other, and writes down how each call ended."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rig import answers, cases, history, hostiles, operations
from rig.by_grpc import Grpc
from rig.by_rest import Rest
from rig.operations import Followed
from rig.outcome import Answered, Refused

_SECONDS = 60.0
"""The deadline of calls that must be answered."""

_PAUSE_SECONDS = 0.15
"""Between calls, at most: two cores compute for all clients and for both servers."""

_LONG = 0.2
"""How many of the operations take seconds, so that faults meet them."""


@dataclass(frozen=True)
class Role:
    """What a client is told.

    Attributes
    ----------
    number : int
        Tells clients apart.
    seed : int
        Of the run.
    grpc_ports, rest_ports : list of int
        Of the replicas, by way of the proxies.
    is_hostile : bool
    """

    number: int
    seed: int
    grpc_ports: list[int]
    rest_ports: list[int]
    is_hostile: bool = False


class Client:
    """Makes calls until it is told to stop by SIGTERM, or the run has ended.

    Parameters
    ----------
    folder : Path
        Of the run.
    role : Role
    """

    def __init__(self, folder: Path, role: Role) -> None:
        self._folder = folder
        self._role = role
        self._generator = random.Random(f"{role.seed}-{role.number}")  # noqa: S311 - a load
        made = Grpc if role.number % 2 else Rest
        ports = role.grpc_ports if made is Grpc else role.rest_ports
        self._caller: Grpc | Rest = made(ports, self._generator)
        self._other = Rest(role.rest_ports, self._generator)
        self._writer = history.Writer(folder / f"calls-{role.number:02}.jsonl")
        self._going = True

    def run(self) -> None:
        """Work until SIGTERM, or until the process that started this one has ended."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        parent = os.getppid()
        while self._going and os.getppid() == parent:
            (self._hostile if self._role.is_hostile else self._good)()
            time.sleep(self._generator.uniform(0, _PAUSE_SECONDS))
        self._caller.close()
        self._writer.close()

    def _stop(self, _number: int, _frame: object) -> None:
        self._going = False

    def _good(self) -> None:
        chance = self._generator.random()
        if chance < 0.06:
            self._leave()
        elif chance < 0.12:
            self._hurried()
        elif chance < 0.18:
            self._describe()
        elif chance < 0.3:
            self._operation()
        else:
            self._whole()

    def _whole(self) -> None:
        case = cases.good()[self._generator.choice(sorted(cases.good()))]
        surface = self._generator.choice(self._caller.surfaces)
        ask = lambda: self._caller.explain(surface, case.request, _SECONDS)  # noqa: E731
        self._record(surface, "whole", case.name, _SECONDS, ask)

    def _describe(self) -> None:
        name = self._generator.choice(cases.model_names())
        surface = f"{self._caller.surfaces[0].partition('-')[0]}-describe"
        ask = lambda: self._caller.describe(cases.model(name), _SECONDS)  # noqa: E731
        self._record(surface, "whole", f"describe-{name}", _SECONDS, ask)

    def _operation(self) -> None:
        few = self._generator.random() < _LONG
        case = cases.long() if few else self._generator.choice([*cases.good().values()])
        surface = f"{self._caller.surfaces[0].partition('-')[0]}-operation"
        followed = Followed(self._caller, self._generator, lambda: self._going)
        ask = lambda: followed.run(case.request)  # noqa: E731
        self._record(surface, "operation", case.name, operations.SECONDS, ask, followed.looks)

    def _leave(self) -> None:
        request = cases.long().request
        surface = self._caller.surfaces[0]
        ask = lambda: self._caller.leave(request, _SECONDS)  # noqa: E731
        self._record(surface, "cancelled", "long", _SECONDS, ask)

    def _hurried(self) -> None:
        seconds = self._generator.uniform(0.02, 1.0)
        surface = self._generator.choice(self._caller.surfaces[:2])
        case = self._generator.choice([cases.long(), *cases.good().values()])
        ask = lambda: self._caller.explain(surface, case.request, seconds)  # noqa: E731
        self._record(surface, "hurried", case.name, seconds, ask)

    def _hostile(self) -> None:
        name = self._generator.choice(sorted(hostiles.chosen()))
        caller = self._generator.choice([self._caller, self._other])
        surface = caller.surfaces[0]
        ask = lambda: caller.explain(surface, hostiles.request(name), hostiles.SECONDS)  # noqa: E731
        self._record(surface, "hostile", name, hostiles.SECONDS, ask)

    def _record(
        self,
        surface: str,
        manner: str,
        case: str,
        seconds: float,
        ask: Callable[[], Answered | None],
        looks: list[str] | None = None,
    ) -> None:
        start = time.monotonic()
        given = {"surface": surface, "manner": manner, "case": case, "seconds": seconds}
        given |= {"looks": [] if looks is None else looks}  # filled by `ask`
        try:
            found = ask()
        except Refused as refused:
            ended: dict[str, object] = {
                "outcome": "error",
                "reason": refused.reason,
                "message": refused.message,
                "origin": "server" if refused.from_server else "way",
            }
        else:
            ended = self._kept(found)
        call = history.Call(start=start, end=time.monotonic(), **given, **ended)  # type: ignore[arg-type] # all are named above
        self._writer.write(call)

    def _kept(self, found: Answered | None) -> dict[str, object]:
        if found is None:
            return {"outcome": "left"}
        name = answers.digest(found.document)
        history.keep(self._folder, name, answers.text(found.document))
        return {"outcome": "answer", "digest": name, "attempts": found.attempts}
