"""Conformance suites for those who write a part of their own, and snapshots. They need no pytest.

A suite is a coroutine that takes a function which makes a fresh part, and raises `ExpectationError` with the
first guarantee that the part does not keep:

    >>> from soundstage.clock import run
    >>> from soundstage.journal import Journal
    >>> run(check_journal(Journal))
"""

from soundstage.testing._daemon import check_daemon
from soundstage.testing._journal import check_journal
from soundstage.testing._model import check_model
from soundstage.testing._snapshot import check_snapshot
from soundstage.testing._snapshot_text import snapshot_text
from soundstage.testing._windowing import check_shatter_policy, check_window_policy
from soundstage.testing._world import check_world

__all__ = [
    "check_daemon",
    "check_journal",
    "check_model",
    "check_shatter_policy",
    "check_snapshot",
    "check_window_policy",
    "check_world",
    "snapshot_text",
]
