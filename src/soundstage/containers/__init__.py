"""Containers: the engine by its Docker API, programs in a container, services and whole compose files.

Install `soundstage[containers]`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
