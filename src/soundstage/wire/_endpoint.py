"""A server in the place of the providers: its addresses, and the variables that lead programs to it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Final

from soundstage.net import HttpServer
from soundstage.wire._stand_ins import stand_ins

STAND_IN_KEY: Final = "sk-soundstage"
"""Stands in the place of a key; it opens nothing."""


class ModelEndpoint(HttpServer):
    """A server that programs ask in the place of a provider: one with a script, or one with a tape."""

    @property
    @abstractmethod
    def openai_url(self) -> str:
        """`base_url` for the `openai` package."""

    @property
    @abstractmethod
    def anthropic_url(self) -> str:
        """`base_url` for the `anthropic` package and `ANTHROPIC_BASE_URL`."""

    @property
    @abstractmethod
    def gemini_url(self) -> str:
        """`base_url` for `google-genai` (in its `http_options`)."""

    def addresses(self) -> dict[str, str]:
        """Variables that point the official packages and CLIs at this server, with the keys that they have."""
        return {
            "OPENAI_BASE_URL": self.openai_url,
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "GOOGLE_GEMINI_BASE_URL": self.gemini_url,
        }

    def environment(self, key: str = STAND_IN_KEY) -> dict[str, str]:
        """Variables that point the official packages and CLIs at this server, and give them a key."""
        return {**self.addresses(), **dict.fromkeys(_KEYS, key)}

    def stand_ins(self, parent: Mapping[str, str], key: str = STAND_IN_KEY) -> dict[str, str | None]:
        """Variables that make the default clients of a process ask this server, and hide the keys that it has.

        Args:
            parent: the variables of the process as they are; see `soundstage.wire._stand_ins`.
            key: what stands in the place of each key.

        Returns: values; `None` for a variable that is to be removed.
        """
        return stand_ins(parent, self.environment(key), key)


_KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
