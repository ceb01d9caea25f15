"""The host: one run with its journal, clock, model, worlds and daemons, as an async context manager."""

from soundstage.host._builder import HostBuilder
from soundstage.host._checks import check_asked, check_egress, check_end, list_rules
from soundstage.host._context import App, AppContext, app_daemon
from soundstage.host._ending import Ending
from soundstage.host._host import Host, watched_runs
from soundstage.host._llm import ModelSide
from soundstage.host._serve import ServeOptions, serve
from soundstage.host._work import Cut, finish_work, inputs_of

__all__ = [
    "App",
    "AppContext",
    "Cut",
    "Ending",
    "Host",
    "HostBuilder",
    "ModelSide",
    "ServeOptions",
    "app_daemon",
    "check_asked",
    "check_egress",
    "check_end",
    "finish_work",
    "inputs_of",
    "list_rules",
    "serve",
    "watched_runs",
]
