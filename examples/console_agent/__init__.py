"""A console with an agent behind it. `python -m examples.console_agent` starts it, with a key in the environment.

The typed line is the prompt, the model's answer is the reply; its thinking goes nowhere. Its tests are
in tests/examples/test_console_agent.py.
"""

from examples.console_agent._app import configure

__all__ = ["configure"]
