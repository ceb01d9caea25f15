"""A model behind a loopback server: what tests and the command line start."""

from __future__ import annotations

import ipaddress

from soundstage.clock import Clock, IdSource
from soundstage.errors import EnvironmentProblem
from soundstage.journal import Journal
from soundstage.models import Model
from soundstage.net import BODY_WITHIN, HEAD_WITHIN, LOOPBACK
from soundstage.wire._app import WireApp
from soundstage.wire._control import HEADER
from soundstage.wire._endpoint import ModelEndpoint


class ModelServer(ModelEndpoint):
    """A model on a port, in the formats of four providers.

    Args:
        model: what answers: scripted, replaying, faulty, live.
        journal: where everything goes.
        host: loopback unless given; any other address needs a token.
        port: 0 picks a free one.
        token: what clients must send as their API key.
        control_token: what a test must send to `/_soundstage/`, which programs under test must not know; a random one
            unless given.
        clock: whose time answers carry.
        ids: where ids come from.
        head_within: seconds in which a client has to send the head of a request; then it gets 408.
        body_within: seconds in which it has to send the body.
        answers: that may be continued, of the Responses format and of Anthropic's threads; the newest are kept. All,
            unless given.

    Raises:
        EnvironmentProblem: if the address is not loopback and there is no token.

    Example:
        ::

            async with asyncio.timeout(60):
                server = ModelServer(ScriptedModel(script), journal)
                await server.start()
                client = openai.AsyncOpenAI(base_url=server.openai_url, api_key="test")
    """

    def __init__(
        self,
        model: Model,
        journal: Journal,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        token: str = "",
        control_token: str = "",
        clock: Clock | None = None,
        ids: IdSource | None = None,
        head_within: float = HEAD_WITHIN,
        body_within: float = BODY_WITHIN,
        answers: int | None = None,
    ) -> None:
        if not token and not _is_loopback(host):
            raise EnvironmentProblem(
                f"{host} can be reached from other machines",
                expected="a loopback address, or a token that clients must send",
                hint=f"use --host {LOOPBACK}, or add --token SECRET",
            )
        self.model = model
        self.app = WireApp(
            model, journal, clock=clock, ids=ids, token=token, control_token=control_token, answers=answers
        )
        super().__init__(
            self.app.handle,
            journal,
            host=host,
            port=port,
            name="model-server",
            head_within=head_within,
            body_within=body_within,
        )

    async def _stop(self) -> None:
        self.app.close()
        await super()._stop()

    @property
    def control_headers(self) -> dict[str, str]:
        """Headers that a request to `/_soundstage/` needs: read the journal, add rules, reset the script."""
        return {HEADER: self.app.control_token}

    @property
    def openai_url(self) -> str:
        """`base_url` for the `openai` package."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """`base_url` for the `anthropic` package and `ANTHROPIC_BASE_URL`."""
        return self.url

    @property
    def gemini_url(self) -> str:
        """`base_url` for `google-genai` (in its `http_options`)."""
        return self.url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
