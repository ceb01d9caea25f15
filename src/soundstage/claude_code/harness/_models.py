"""One model server for all conversations of a client: each has a script of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from soundstage.errors import ScriptError, ScriptLoadError
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models import Script, ScriptedModel, load_rules


class ConversationModels:
    """Hands each request to the script of the conversation that it belongs to."""

    def __init__(self) -> None:
        self._models: dict[str, ScriptedModel] = {}
        self._others = ScriptedModel(Script(name="requests of no conversation"))

    def add(self, conversation: str, model: ScriptedModel) -> None:
        """From now on `model` answers for `conversation`."""
        self._models[conversation] = model

    def remove(self, conversation: str) -> None:
        """Forget a conversation."""
        self._models.pop(conversation, None)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply of the script of the request's conversation."""
        return self._for(request).stream(request)

    def _for(self, request: ModelRequest) -> ScriptedModel:
        return self._models.get(request.caller.conversation, self._others)


def read_script(given: Mapping[str, Any] | str | list[Any] | None, *, strict: bool) -> Script:
    """A script as a client of the tools gives it.

    Args:
        given: the script format as data or as text in YAML or JSON; a list of replies, each of which serves
            once, in order.
        strict: a request that nothing answers is an error.

    Raises:
        ScriptLoadError: with every problem.
        ScriptError: if it is none of these.
    """
    script = Script()
    if isinstance(given, list):
        for reply in given:
            script.queue(reply)
    elif isinstance(given, Mapping):
        load_rules(script, msgspec.json.encode(given).decode(), source="script")
    elif given is not None:
        script = _from_text(given)
    script.strict = script.strict or strict
    return script


def _from_text(given: str) -> Script:
    script = Script()
    try:
        load_rules(script, given, source="script")
    except ScriptLoadError as error:
        if "\n" in given or "{" in given:
            raise
        raise ScriptError(
            "this is no script",
            expected="an object with `rules`, its YAML or JSON, a file, or a list of replies",
            seen=repr(given[:200]),
            hint='{"rules": [{"when": {"user": "hello"}, "reply": "hi"}]}',
        ) from error
    return script
