"""`soundstage demo`: scenarios that show what the project is for. Each is an ordinary test body."""

from soundstage.demo._run import run_demo

__all__ = ["run_demo"]
