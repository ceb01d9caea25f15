"""A bot with an agent behind it and a journal in a file. `python -m examples.discord_agent` starts it.

Its parts are connected by hand, by two pumps that read the journal: what people write becomes a prompt, what the
agent answers a reply in the same channel. `examples.declarative_discord_agent` is the same bot with declared
routes. Its tests are in tests/examples/test_discord_agent.py.
"""

from examples.discord_agent._app import configure

__all__ = ["configure"]
