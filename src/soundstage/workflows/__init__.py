"""Workflows: several agents, people and programs in one test, stage by stage, in one journal.

A `Workflow` runs its `Stage`s in order. A stage is a prompt for an agent, or a function that drives anything. Gates
skip stages, `Until` repeats them, hooks stand around them, reporters are told as it goes on. The result is a view of
the journal. Under pytest, the fixture `workflow` runs stages in the context of the test; `run_test` does so elsewhere.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
