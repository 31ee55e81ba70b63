"""Judges a run by its history: what had to be so, and whether it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from rig import allowed, answers, history, hostiles, reference, run, slopes
from rig.by_grpc import Grpc
from rig.by_rest import Rest
from rig.history import Call, Fault, Probe, Sample

MIB = 2**20
ALLOWANCES = {
    "resident_bytes": 16 * MIB,
    "own_bytes": 64 * MIB,
    "threads": 4.0,
    "unexplained_descriptors": 2.0,
    "files": 1.0,
}
"""Growth per hour up to which a size counts as flat in a run of half an hour."""

HOSTILE_SECONDS, HOSTILE_SHARE = 0.5, 0.95
"""How long after its deadline a hostile call may last, and for how many of them that holds."""

HEALTH_SECONDS, HEALTH_SHARE = 1.0, 0.99

_FEW_CALLS = 2_000
"""Fewer calls need not have met every method."""


_SURFACES = {
    *(*Grpc.surfaces, *Rest.surfaces),
    *(f"{name}-{what}" for name in ("grpc", "rest") for what in ("describe", "operation")),
}


@dataclass(frozen=True)
class Verdict:
    """One thing that had to be so.

    Attributes
    ----------
    rule : str
    holds : bool
    found : str
        What was seen, with numbers.
    examples : tuple of str
        Some of what broke the rule.
    """

    rule: str
    holds: bool
    found: str
    examples: tuple[str, ...] = ()


class History:
    """All that a run has left in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = run.read(folder)
        self.calls = history.read(folder, "calls-*.jsonl", Call)
        self.faults = history.read(folder, "faults.jsonl", Fault)
        self.probes = history.read(folder, "probes.jsonl", Probe)
        self.samples = history.read(folder, "samples.jsonl", Sample)
        self.expected = reference.read(folder / "reference.jsonl")

    @cached_property
    def whole(self) -> list[Call]:
        """Calls that had to be answered."""
        return [call for call in self.calls if call.manner == "whole"]

    @cached_property
    def operations(self) -> list[Call]:
        """Operations that were started and followed."""
        return [call for call in self.calls if call.manner == "operation"]

    @cached_property
    def errors(self) -> list[Call]:
        """Calls that ended with an error."""
        return [call for call in self.calls if call.outcome == "error"]

    @cached_property
    def trends(self) -> list[slopes.Trend]:
        """How sizes of what lived through the whole run moved."""
        steady = self.run.steady
        wanted = [(f"server-{steady}-1", key) for key in ("resident_bytes", "threads")]
        wanted += [(f"server-{steady}-1", "unexplained_descriptors")]
        wanted += [(f"workers-{steady}-1", "own_bytes")]
        wanted += [("shared-memory", "files")]
        found = [slopes.of_samples(self.samples, *each) for each in wanted]
        return [each for each in found if each is not None]


def check(found: History) -> list[Verdict]:
    """Judge a run."""
    rules: list[Callable[[History], Verdict]] = [
        no_wrong_answer,
        nothing_lost,
        operations_end_once,
        errors_have_causes,
        nothing_private,
        hostile_calls_end,
        health_is_right,
        nothing_grows,
        all_ends_well,
        everything_was_asked,
    ]
    return [rule(found) for rule in rules]


def no_wrong_answer(found: History) -> Verdict:
    """Compare each distinct answer with the right one."""
    told = {(call.case, call.digest) for call in found.calls if call.outcome == "answer"}
    wrong, equal = set(), set()
    for case, digest in sorted(told):
        expected = found.expected.get(case)
        answer = history.kept(found.folder, digest)
        if expected is None or not answers.same(answer, expected):
            wrong.add((case, digest))
        elif answer == expected:
            equal.add((case, digest))
    given = [call for call in found.calls if call.outcome == "answer"]
    bits = sum((call.case, call.digest) in equal for call in given)
    bad = [call for call in given if (call.case, call.digest) in wrong]
    text = (
        f"{len(given):,} answers, {len(told):,} of them distinct; {bits:,} equal to the right one "
        f"in every bit, the others in all but the last digits; {len(bad)} wrong"
    )
    return Verdict("No answer is wrong", not bad, text, _told(bad))


def nothing_lost(found: History) -> Verdict:
    """Calls with time enough are answered, with one retry, whatever breaks."""
    lost = [call for call in found.whole if call.outcome != "answer"]
    bad = [call for call in lost if allowed.is_safe(call, found.faults)]
    excused = ", ".join(sorted(allowed.UNSAFE))
    text = (
        f"{len(found.whole):,} calls with a minute and one retry; {len(bad)} lost, and "
        f"{len(lost) - len(bad)} more during faults where a retry does not help: {excused}"
    )
    return Verdict("Nothing is lost with one retry", not bad, text, _told(bad))


def operations_end_once(found: History) -> Verdict:
    """Each operation ends in time, and shows one end to whoever looks, with one answer."""
    bad = [call for call in found.operations if _is_unended(call, found.faults)]
    gone = sum(call.reason == "OPERATION_NOT_FOUND" for call in found.operations)
    answered = [call for call in found.operations if call.outcome == "answer"]
    again = sum(any(look.split()[3:4] > ["1"] for look in call.looks) for call in answered)
    text = (
        f"{len(found.operations):,} operations: {len(answered):,} answered, {again} of them after "
        f"more than one attempt, {gone} gone with the memory of Redis, "
        f"{len(found.operations) - len(answered) - gone} failed; {len(bad)} with two ends or none"
    )
    return Verdict("Each operation ends once", not bad, text, _told(bad))


def _is_unended(call: Call, faults: Iterable[Fault]) -> bool:
    """Whether an operation had no end, or two; starts that Redis forgot are two operations."""
    seen = {look for look in call.looks if look.startswith("ended ")}
    names = set(call.looks) - seen
    is_twice = len(seen) > 1 or len(names) > 1
    is_endless = call.reason == "OPERATION_NOT_DONE" or (call.outcome == "answer" and not seen)
    return is_endless or (is_twice and not allowed.is_forgotten(call, faults))


def errors_have_causes(found: History) -> Verdict:
    """Each error is a reason that the call, the model or a fault at the time explains."""
    bad = [call for call in found.errors if not _has_cause(call, found.faults)]
    bad += [c for c in found.errors if c.origin == "server" and c.reason in {"INTERNAL", "UNKNOWN"}]
    unexpected = [c for c in found.calls if c.manner == "hostile" and c.outcome == "answer"]
    kinds = Counter(call.reason for call in found.errors)
    text = ", ".join(f"{name} {count:,}" for name, count in kinds.most_common())
    return Verdict("Every error has a cause", not (bad or unexpected), text, _told(bad, unexpected))


def nothing_private(found: History) -> Verdict:
    """Messages of the server tell nothing of its inside."""
    told = [call for call in found.errors if call.origin == "server"]
    bad = [call for call in told if allowed.is_private(call.message)]
    text = f"{len(told):,} messages without a path, a code position or an address; {len(bad)} with"
    return Verdict("No message leaks internals", not bad, text, _told(bad))


def hostile_calls_end(found: History) -> Verdict:
    """What never ends by itself ends soon after its deadline, as the server tells over REST."""
    over = np.array(
        [
            call.end - call.start - call.seconds
            for call in found.calls
            if call.manner == "hostile"
            and hostiles.is_endless(call.case)
            and call.surface.startswith("rest")
            and not allowed.during(call, found.faults)
        ]
    )
    if not len(over):
        return Verdict(
            "Endless calls end", holds=True, found="no such call was made outside faults"
        )
    share = float(np.mean(over <= HOSTILE_SECONDS))
    text = (
        f"{len(over):,} endless calls with a deadline of {hostiles.SECONDS:g} s; they ended "
        f"{np.median(over):.2f} s after it at the median, {over.max():.2f} s at most; "
        f"{share:.1%} within {HOSTILE_SECONDS:g} s"
    )
    return Verdict("Endless calls end", share >= HOSTILE_SHARE, text)


def health_is_right(found: History) -> Verdict:
    """Replicas are well while nothing is done to their processes, and say so in time."""
    calm = [p for p in found.probes if not _is_hit(p, found.faults)]
    bad = [p for p in calm if p.status != 200]
    quick = float(np.mean([p.seconds <= HEALTH_SECONDS for p in calm])) if calm else 1.0
    took = np.array([p.seconds for p in calm] or [0.0])
    text = (
        f"{len(calm):,} probes of replicas without a fault: {len(bad)} wrong, "
        f"{1000 * np.median(took):.0f} ms at the median, {took.max():.2f} s at most, "
        f"{quick:.2%} within {HEALTH_SECONDS:g} s"
    )
    examples = tuple(f"{p.replica} {p.path} {p.status} at {p.time:.1f}" for p in bad[:5])
    return Verdict("Health is right", not bad and quick >= HEALTH_SHARE, text, examples)


def nothing_grows(found: History) -> Verdict:
    """Memory, descriptors, threads and shared memory stay."""
    bad = [each for each in found.trends if each.grows(ALLOWANCES[each.name.rpartition(" ")[2]])]
    text = (
        f"{len(found.trends)} sizes, {len(bad)} of which grow significantly"
        if found.trends
        else "the run was too short to tell"
    )
    return Verdict("Nothing grows", not bad, text, tuple(each.name for each in bad))


def all_ends_well(found: History) -> Verdict:
    """Replicas end by themselves when told to, and leave no process."""
    asked = found.run
    if not asked.end:
        return Verdict("Shutdown is clean", holds=True, found="the run was ended before its end")
    ended = all(code == 0 for code in asked.exit_codes)
    broken = [line for name in ("A", "B") for line in _tracebacks(found.folder, name)]
    text = (
        f"exit codes {list(asked.exit_codes)}, {asked.leftovers} processes left, "
        f"{len(broken)} tracebacks in the logs"
    )
    holds = ended and not asked.leftovers and not broken
    return Verdict("Shutdown is clean", holds, text, tuple(broken[:5]))


def everything_was_asked(found: History) -> Verdict:
    """Every method of the service and of explaining was answered."""
    asked = [*found.whole, *found.operations]
    answered = [call for call in asked if call.outcome == "answer"]
    wanted = {field.json_name for field in MethodOptions.DESCRIPTOR.fields} | _SURFACES
    seen = {part for call in answered for part in (*call.case.split("-"), call.surface)}
    missing = sorted(wanted - seen)
    text = f"{len(wanted)} methods and surfaces, {len(missing)} without an answer"
    holds = not missing or len(found.calls) < _FEW_CALLS
    return Verdict("Everything was covered", holds, text, tuple(missing))


def _has_cause(call: Call, faults: Iterable[Fault]) -> bool:
    return allowed.may_fail_so(call, faults)


def _is_hit(probe: Probe, faults: Iterable[Fault]) -> bool:
    """Whether something was done to the replica's own processes at that time."""
    own = ("worker", "zygote", "replica", "no-", "disk")
    return any(
        fault.target == probe.replica
        and fault.kind.startswith(own)
        and fault.start <= probe.time + probe.seconds
        and probe.time <= fault.end
        for fault in faults
    )


def _tracebacks(folder: Path, name: str) -> Iterator[str]:
    log = folder / f"replica-{name}.log"
    if log.exists():
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("Traceback") or " CRITICAL " in line or " INTERNAL " in line:
                yield f"replica {name}: {line[:200]}"


def _told(*groups: Sequence[Call]) -> tuple[str, ...]:
    calls = [call for group in groups for call in group][:5]
    return tuple(
        f"{c.manner} {c.surface} {c.case}: {c.reason or c.outcome} ({c.origin}) {c.message[:160]}"
        for c in calls
    )
