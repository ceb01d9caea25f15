"""A console with an agent behind it. `python -m examples.console_agent` starts it, with a key in the environment.

What a person types is the prompt, what the model answers is the reply; what it thinks goes nowhere. Its tests are
in tests/examples/test_console_agent.py.
"""

from examples.console_agent._app import configure

__all__ = ["configure"]
