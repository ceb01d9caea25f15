"""A console agent whose answers are shown while they come. `python -m examples.console_agent_streaming` starts it.

The model streams small pieces; a window policy says when they are worth a line, a split policy how an output is
cut. Its tests are in tests/examples/test_console_agent_streaming.py.
"""

from examples.console_agent_streaming._app import configure

__all__ = ["configure"]
