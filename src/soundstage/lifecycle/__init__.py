"""Things that start, run and stop: daemons and their supervisor, processes, folders that go with a run."""

from soundstage.lifecycle._arrivals import before_exits
from soundstage.lifecycle._beneath import files_beneath, read_beneath, write_beneath
from soundstage.lifecycle._daemon import ENDED, Daemon, Status, TaskDaemon, of_daemon
from soundstage.lifecycle._execution import Execution, Finished
from soundstage.lifecycle._git_call import git_call, run_git
from soundstage.lifecycle._interrupts import UNCLEAN, DeferredInterrupts, raise_together
from soundstage.lifecycle._isolator import MACHINE_ONLY, Isolator, Launch
from soundstage.lifecycle._lines import LineSplitter
from soundstage.lifecycle._process import GRACE, SHOWN, Process
from soundstage.lifecycle._processes import owner_is_dead, started_at
from soundstage.lifecycle._scratch import ScratchFolder, remove_tree
from soundstage.lifecycle._supervisor import Supervisor
from soundstage.lifecycle._termination import handle_termination, termination_requested
from soundstage.lifecycle._thread import LoopThread

__all__ = [
    "ENDED",
    "GRACE",
    "MACHINE_ONLY",
    "SHOWN",
    "UNCLEAN",
    "Daemon",
    "DeferredInterrupts",
    "Execution",
    "Finished",
    "Isolator",
    "Launch",
    "LineSplitter",
    "LoopThread",
    "Process",
    "ScratchFolder",
    "Status",
    "Supervisor",
    "TaskDaemon",
    "before_exits",
    "files_beneath",
    "git_call",
    "handle_termination",
    "of_daemon",
    "owner_is_dead",
    "raise_together",
    "read_beneath",
    "remove_tree",
    "run_git",
    "started_at",
    "termination_requested",
    "write_beneath",
]
