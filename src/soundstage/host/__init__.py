"""The host: one run with its journal, clock, model, worlds and daemons, as an async context manager."""

from soundstage.host._builder import HostBuilder
from soundstage.host._checks import (
    list_rules,
    mistake_of_script,
    require_clean_end,
    require_no_egress,
    require_request,
)
from soundstage.host._context import App, AppContext, app_daemon, app_sides
from soundstage.host._ending import RunEnding, failures_of, told_beside
from soundstage.host._frames import ENDED_WITH, ended_with, errors_of, hide_frames, is_ours
from soundstage.host._host import Host, watched_runs
from soundstage.host._llm import ModelSide
from soundstage.host._parts import Composition, Setup, WorldMaker
from soundstage.host._serve import ServeOptions, serve
from soundstage.host._work import Cut, finish_work

__all__ = [
    "ENDED_WITH",
    "App",
    "AppContext",
    "Composition",
    "Cut",
    "Host",
    "HostBuilder",
    "ModelSide",
    "RunEnding",
    "ServeOptions",
    "Setup",
    "WorldMaker",
    "app_daemon",
    "app_sides",
    "ended_with",
    "errors_of",
    "failures_of",
    "finish_work",
    "hide_frames",
    "is_ours",
    "list_rules",
    "mistake_of_script",
    "require_clean_end",
    "require_no_egress",
    "require_request",
    "serve",
    "told_beside",
    "watched_runs",
]
