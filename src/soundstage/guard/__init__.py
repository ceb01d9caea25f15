"""The guard of this process: what asks the system for a host is judged first, while a run lasts.

Below the journal and the clocks, which both use it; `soundstage.net.ClosedSet` is what a run closes.
"""

from soundstage.guard._addresses import in_this_machine
from soundstage.guard._attempts import EgressAttempt
from soundstage.guard._descriptors import open_connections
from soundstage.guard._hook import EgressWatch, begin, end, on_virtual_time, permitted, report, unjudged
from soundstage.guard._variables import put, real_environment, real_proxy, real_variable

__all__ = [
    "EgressAttempt",
    "EgressWatch",
    "begin",
    "end",
    "in_this_machine",
    "on_virtual_time",
    "open_connections",
    "permitted",
    "put",
    "real_environment",
    "real_proxy",
    "real_variable",
    "report",
    "unjudged",
]
