"""What all tests share: in CI no test may be skipped, because CI installs whatever a test needs.

`SOUNDSTAGE_MAY_SKIP` is an expression for reasons that do not count: what CI has found out that its machine refuses.
"""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import settings

settings.register_profile("soundstage", deadline=None, derandomize=True)  # the machine is shared; runs repeat
settings.load_profile("soundstage")

pytest_plugins = ["pytester"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not os.environ.get("SOUNDSTAGE_NO_SKIPS") or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    refused = os.environ.get("SOUNDSTAGE_MAY_SKIP")
    skipped = [
        report
        for report in (reporter.stats.get("skipped", []) if reporter else [])
        if not refused or not re.search(refused, str(report.longrepr))
    ]
    if skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} test(s) were skipped that this machine has to run", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
