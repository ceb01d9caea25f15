"""Accounts: the keys and addresses with which the user asks providers, read from variables. Pure.

A test's app has stand-ins for keys. While its tape is recorded, the server between them asks the provider with the
user's own, so that they reach neither the app nor the tape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

_BASE_VARIABLES: Final = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"),
}
KEY_VARIABLES: Final = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}
_HEADERS: Final = {  # variable -> the header that carries it, and its words
    "OPENAI_API_KEY": ("authorization", "Bearer {}"),
    "OPENAI_ORG_ID": ("openai-organization", "{}"),
    "OPENAI_PROJECT_ID": ("openai-project", "{}"),
    "ANTHROPIC_API_KEY": ("x-api-key", "{}"),
    "ANTHROPIC_AUTH_TOKEN": ("authorization", "Bearer {}"),
    "GOOGLE_API_KEY": ("x-goog-api-key", "{}"),
    "GEMINI_API_KEY": ("x-goog-api-key", "{}"),
}
_BESIDES: Final = {"openai": ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")}
KEY_HEADERS: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key"})
KEY_PARAMETERS: Final = frozenset({"key", "api_key", "access_token"})
"""Parameters of a query that carry a key."""


class Account(NamedTuple):
    """The way in which a user asks a provider.

    Args:
        headers: what is sent in the place of the keys that a program sends; empty if the user has no key.
        base: the address from the user's variables; empty if there is none.
        key: the key alone.
    """

    headers: Mapping[str, str] = {}
    base: str = ""
    key: str = ""


def accounts_of(environment: Mapping[str, str]) -> dict[str, Account]:
    """The user's account at each provider, by the variables that the official SDKs read.

    Example:
        >>> accounts_of({"OPENAI_API_KEY": "k"})["openai"].headers
        {'authorization': 'Bearer k'}
    """
    return {name: _account(name, environment) for name in KEY_VARIABLES}


def _account(name: str, environment: Mapping[str, str]) -> Account:
    variable = next((each for each in KEY_VARIABLES[name] if environment.get(each)), "")
    base = next((environment[each] for each in _BASE_VARIABLES[name] if environment.get(each)), "")
    if not variable:
        return Account(base=base)
    sent = [variable, *(each for each in _BESIDES.get(name, ()) if environment.get(each))]
    headers = dict(_header(each, environment[each]) for each in sent)
    return Account(headers, base, environment[variable])


def _header(variable: str, value: str) -> tuple[str, str]:
    name, words = _HEADERS[variable]
    return name, words.format(value)


def keys_in(headers: Mapping[str, str], parameters: Mapping[str, str]) -> Iterator[str]:
    """The keys that a request carries.

    Example:
        >>> [*keys_in({"Authorization": "Bearer k"}, {"key": "g"})]
        ['k', 'g']
    """
    for name, value in headers.items():
        if name.lower() in KEY_HEADERS:
            yield value.removeprefix("Bearer ").strip()
    yield from (value for name, value in parameters.items() if name in KEY_PARAMETERS)
