"""The bot of `examples.discord_agent`, with its routes declared. `python -m examples.declarative_discord_agent`.

A covenant says which entries become which, and it is checked as a whole before anything runs. Its tests are in
tests/examples/test_declarative_discord_agent.py.
"""

from examples.declarative_discord_agent._app import configure, declare

__all__ = ["configure", "declare"]
