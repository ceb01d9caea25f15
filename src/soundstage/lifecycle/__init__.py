"""Things that start, run and stop: daemons, the supervisor that owns them, and folders that go with a run."""

from soundstage.lifecycle._daemon import Daemon, Status, TaskDaemon
from soundstage.lifecycle._git_call import GitCall, git_call, run_git
from soundstage.lifecycle._processes import owner_is_dead, started_at, variables_of
from soundstage.lifecycle._scratch import ScratchFolder, remove_tree
from soundstage.lifecycle._supervisor import Supervisor
from soundstage.lifecycle._thread import LoopThread

__all__ = [
    "Daemon",
    "GitCall",
    "LoopThread",
    "ScratchFolder",
    "Status",
    "Supervisor",
    "TaskDaemon",
    "git_call",
    "owner_is_dead",
    "remove_tree",
    "run_git",
    "started_at",
    "variables_of",
]
