"""The test's side of the model."""

from __future__ import annotations

from typing import Any, Never

from soundstage.journal import Journal, ModelRequested
from soundstage.messages import ModelRequest
from soundstage.models import Script, ScriptedModel
from soundstage.scripts import Rule


class ModelSide:
    """The test's side of the model: its script, and the requests of the app.

    Example:
        ::

            host.llm.on(user="hello").reply("hi")
            await host.console.send("hello")
            await host.console.expect("hi")
            assert host.llm.prompts == ["hello"]
    """

    def __init__(self, scripted: ScriptedModel, journal: Journal, *, after: int = 0) -> None:
        self._scripted = scripted
        self._journal = journal
        self._after = after

    @property
    def script(self) -> Script:
        """The script; it may grow while the run goes on."""
        return self._scripted.script

    def on(self, *unnamed: Never, **conditions: Any) -> Any:
        """A new rule; see `Script.on`."""
        return self.script.on(*unnamed, **conditions)

    @property
    def requests(self) -> list[ModelRequest]:
        """All that the app has asked, in order."""
        return [event.request for event in self._journal.events(ModelRequested, self._after)]

    @property
    def prompts(self) -> list[str]:
        """The user's latest words in each request."""
        return [request.last_user_text or "" for request in self.requests]

    def unused(self) -> list[Rule]:
        """The rules that have not served yet."""
        return self._scripted.unused()
