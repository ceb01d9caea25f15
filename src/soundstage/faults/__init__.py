"""Faults, swept: a good run is repeated once for each model call and each kind of fault, and a table says how it went.

`soundstage faults SCRIPT -- COMMAND...` does it with any program. `sweep(agent, script)` and the fixture `faults` of
pytest do it with an agent in process, on virtual time.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
