"""Isolation: what keeps a program apart beyond folders and variables: a network of its own, a sandbox, a service.

Any driver takes these levels, by name too: `Command(argv, journal, isolation="sandbox")`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
