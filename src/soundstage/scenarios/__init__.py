"""Scenarios: a run of a program on the Claude Agent SDK, recorded once with the real CLI, replayed for ever.

Install `soundstage[claude]`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[claude]")
