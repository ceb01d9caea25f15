"""An app in process as a session: prompts are lines on its console, its lines are the answer."""

from __future__ import annotations

from soundstage.clock import time_limit
from soundstage.errors import WaitTimeout
from soundstage.host import App, AppContext
from soundstage.journal import Journal, MessageSent
from soundstage.models import JournaledModel, Model
from soundstage.runs.runner._targets import AgentReply
from soundstage.worlds import Console


class AppSession:
    """Drives an app of a host, such as one of `soundstage.agents`, as a target of an `AgentRunner`.

    For each prompt the app is run from its begin to its end: the lines of the prompt are the input of its console,
    which then ends; what it writes is the answer.

    Args:
        app: gets the context that a host gives its apps.
        model: that the app asks.
        journal: where console and model go.
        name: how the journal calls its console.

    Example:
        ::

            app = configured_app(configure)     # with app.use_console() and app.use_agent("gpt-4o")
            result = await AgentRunner(AppSession(app, model, journal), journal=journal).run("hello")
    """

    def __init__(self, app: App, model: Model, journal: Journal, *, name: str = "console") -> None:
        self.name = name
        self._app = app
        self._journal = journal
        self._model = model if isinstance(model, JournaledModel) else JournaledModel(model, journal)

    async def prompt(self, text: str, *, within: float) -> AgentReply:
        """Run the app on a prompt.

        Raises:
            WaitTimeout: if it takes longer than `within` seconds; it has been cancelled then.
        """
        begun = len(self._journal)
        console = Console(self._journal, name=self.name)
        await console.start()
        try:
            for line in text.splitlines():
                await console.send(line)
            console.end_input()
            async with time_limit(within):
                await self._app(AppContext(self._model, console.io, self._journal.clock, self._journal))
        except TimeoutError as error:
            raise WaitTimeout(f"the app did not end within {within:g} s", seen=str(error)) from None
        finally:
            await console.stop()
        said = self._journal.read(begun, MessageSent)
        return AgentReply(
            "\n".join(
                record.event.text
                for record in said
                if isinstance(record.event, MessageSent) and record.event.channel == self.name
            )
        )

    async def interrupt(self, *, within: float) -> None:
        """Nothing to break off: who cancels `prompt` ends the app."""

    async def end(self) -> int:
        """Nothing runs between two prompts."""
        return 0
