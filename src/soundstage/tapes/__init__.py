"""Tapes: any program's traffic with models recorded once, replayed anywhere, and what has changed told by its cause."""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
