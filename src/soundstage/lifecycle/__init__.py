"""Things that start, run and stop: daemons, and the supervisor that owns them."""

from soundstage.lifecycle._daemon import Daemon, Status, TaskDaemon
from soundstage.lifecycle._supervisor import Supervisor
from soundstage.lifecycle._thread import LoopThread

__all__ = ["Daemon", "LoopThread", "Status", "Supervisor", "TaskDaemon"]
