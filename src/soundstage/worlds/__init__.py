"""Worlds: what surrounds the app, each with a test side and an app side."""

from soundstage.worlds._console import Console, ConsoleIO
from soundstage.worlds._workspace import Workspace

__all__ = ["Console", "ConsoleIO", "Workspace"]
