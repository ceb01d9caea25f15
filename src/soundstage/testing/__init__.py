"""Conformance suites for those who write a part of their own. They need no pytest.

A suite is a coroutine. It takes a function that makes a fresh part, and raises `ExpectationError` with the first
guarantee that does not hold:

    >>> from soundstage.clock import run
    >>> from soundstage.journal import Journal
    >>> run(verify_journal(Journal))
"""

from soundstage.testing._daemon import verify_daemon
from soundstage.testing._guarantee import Guarantee, NotKept, keep_all, same
from soundstage.testing._inbox import InboxProbe, verify_inbox
from soundstage.testing._journal import verify_journal
from soundstage.testing._model import verify_model
from soundstage.testing._world import verify_world

__all__ = [
    "Guarantee",
    "InboxProbe",
    "NotKept",
    "keep_all",
    "same",
    "verify_daemon",
    "verify_inbox",
    "verify_journal",
    "verify_model",
    "verify_world",
]
