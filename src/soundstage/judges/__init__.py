"""Judges: models that judge runs by a rubric, with evidence, and decide only once they agree with people.

`Judge(load_rubric("repair.yaml")).judge(result)` gives a `Judgment`: passed, failed, or void if a quote of the verdict
stands nowhere in the run. `soundstage judge calibrate` measures a judge against labels of people; without that it gives
scores, and stops nothing.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
