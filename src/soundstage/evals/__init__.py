"""Evals: a run as in a test, repeated, scored and counted. `soundstage.evals.statistics` says what the counts mean.

Needs the extra: `pip install 'soundstage[runs]'`, where runs are kept.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[runs]")
