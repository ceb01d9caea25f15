"""Snapshots: prompts, messages and requests as text in files that people review, and checks that they are the same."""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
