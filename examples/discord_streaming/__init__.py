"""A bot that reads aloud, a sentence a message. `python -m examples.discord_streaming` starts it.

A reply is a draft. A split policy cuts it into the chunks of a stream, a window policy puts chunks together to
messages, and none is longer than Discord takes. Its tests are in tests/examples/test_discord_streaming.py.
"""

from examples.discord_streaming._app import configure

__all__ = ["configure"]
