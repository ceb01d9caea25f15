"""A console that says again what it is told. `python -m examples.console_chat` starts it.

The least that an app can be: one branch and one route. Its tests are in tests/examples/test_console_chat.py.
"""

from examples.console_chat._app import configure

__all__ = ["configure"]
