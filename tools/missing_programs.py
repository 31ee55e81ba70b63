"""pytest plugin: a test whose program is not installed is left out, or fails where CI says so."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tools.programs import PACKAGES, advice, find

DEMAND = "TEST_DEMAND_PROGRAMS"
"""Variable that turns tests left out for want of a program into failures, as CI wants it.

Of value "packages": programs of Debian's packages only, not those that a target of make builds.
"""

_REASON = "program not found: "


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Return the path of a program; leave the test out where it is not installed."""

    def path(name: str) -> str:
        binary = find(name)
        if binary is None and _is_demanded(name):
            pytest.fail(f"{_REASON}{name}; {advice(name)}", pytrace=False)
        if binary is None:
            pytest.skip(f"{_REASON}{name}")
        return binary

    return path


def _is_demanded(name: str) -> bool:
    demand = os.environ.get(DEMAND)
    return bool(demand) and (demand != "packages" or name in PACKAGES)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Name each missing program and the command that installs it, after all other summaries."""
    yield
    reasons = (report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
    names = Counter(reason.partition(_REASON)[2] for reason in reasons if _REASON in reason)
    if not names:
        return
    terminalreporter.section("tests left out for want of a program")
    for name, count in sorted(names.items()):
        tests = "1 test" if count == 1 else f"{count} tests"
        user = ", as root" if name in PACKAGES else ""
        terminalreporter.line(f"{name}: {tests}; to run them{user}: {advice(name)}")
