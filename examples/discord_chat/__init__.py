"""A bot that says again what it is told in its channel. `python -m examples.discord_chat` starts it.

The least that a bot can be: one branch and one route. It leaves other bots alone, and messages without a text. Its
tests are in tests/examples/test_discord_chat.py.
"""

from examples.discord_chat._app import configure

__all__ = ["configure"]
