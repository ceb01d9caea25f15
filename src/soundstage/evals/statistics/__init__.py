"""Statistics of repeated runs: rates with intervals, pass@k, means, comparisons, and a test that stops early. Pure.

What every report needs is arithmetic of the standard library. Tests of a difference need the extra:
`pip install 'soundstage[stats]'`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[stats]")
