"""Worlds: what surrounds the app, each with a test side and an app side."""

from soundstage.worlds._console import Console, ConsoleIO
from soundstage.worlds._console_lines import ConsoleLines, text_of
from soundstage.worlds._git import Git
from soundstage.worlds._head_log import HeadLog, commits_between, head_log
from soundstage.worlds._inbox import WITHIN, Ends, Fits, Inbox, Only, first_record
from soundstage.worlds._workspace import Workspace
from soundstage.worlds._world import APP, World

__all__ = [
    "APP",
    "WITHIN",
    "Console",
    "ConsoleIO",
    "ConsoleLines",
    "Ends",
    "Fits",
    "Git",
    "HeadLog",
    "Inbox",
    "Only",
    "Workspace",
    "World",
    "commits_between",
    "first_record",
    "head_log",
    "text_of",
]
