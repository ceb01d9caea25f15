"""Claude Code: the real CLI, started hermetically, prompted turn by turn; and what tests its plugins.

Install `soundstage[claude]`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
