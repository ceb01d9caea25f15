"""Worlds: what surrounds the app, each with a test side and an app side."""

from soundstage.worlds._console import Console, ConsoleIO
from soundstage.worlds._console_lines import ConsoleLines, text_of
from soundstage.worlds._git import Git
from soundstage.worlds._inbox import WITHIN, Ends, Fits, Inbox, Only, first_record
from soundstage.worlds._keys import key_bytes, paste_bytes
from soundstage.worlds._screen import Screen, screen_event
from soundstage.worlds._screen_cells import BLANK, Cell, Cursor, Position, Row
from soundstage.worlds._screen_emulator import Emulator
from soundstage.worlds._screen_match import ScreenText, nearest, styled
from soundstage.worlds._screen_style import PLAIN, Style
from soundstage.worlds._workspace import Workspace
from soundstage.worlds._world import APP, World

__all__ = [
    "APP",
    "BLANK",
    "PLAIN",
    "WITHIN",
    "Cell",
    "Console",
    "ConsoleIO",
    "ConsoleLines",
    "Cursor",
    "Emulator",
    "Ends",
    "Fits",
    "Git",
    "Inbox",
    "Only",
    "Position",
    "Row",
    "Screen",
    "ScreenText",
    "Style",
    "Workspace",
    "World",
    "first_record",
    "key_bytes",
    "nearest",
    "paste_bytes",
    "screen_event",
    "styled",
    "text_of",
]
