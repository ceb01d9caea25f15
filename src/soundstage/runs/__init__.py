"""Runs that are kept: each with its journal, its files and what it cost, in a store that can be asked.

`RunStore(".soundstage")` saves a finished run in one step, lists runs by test, outcome and age, opens one with its
files read when they are needed, and removes old ones. `pytest --soundstage-runs -` keeps the runs of tests.

Needs the extra: `pip install 'soundstage[runs]'`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[runs]")
