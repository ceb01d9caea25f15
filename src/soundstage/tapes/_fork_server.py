"""The server of a fork: plays a tape up to a step, hands on what comes then, and keeps both on the branch.

The times of the branch are those of the tape up to the step, and go on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from soundstage.clock import Clock
from soundstage.errors import EnvironmentProblem, RequestRejected
from soundstage.journal import Journal
from soundstage.net import Exchange, HttpRequest
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._fork import Fork, ForkTurn, renumbered
from soundstage.tapes._frames import digest
from soundstage.tapes._passing import ProviderRequest, call_of
from soundstage.tapes._rewrite import RequestEdit, edited, edited_body
from soundstage.tapes._server import TapeServer
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import DivergenceError
from soundstage.wire import find_route

_COMPARED: Final = ("model", "messages", "tools", "settings")


class ForkServer(TapeServer):
    """A server between a program, a tape and the model that goes on.

    Args:
        fork: the tape, and where it is left.
        branch: where the run goes.
        journal: where what it plays and hands on goes, too.
        upstreams: base URLs of the model that goes on.
        clock: whose times are kept.

    Attributes:
        played: exchanges that the tape has answered.
    """

    def __init__(
        self, fork: Fork, branch: Tape, journal: Journal, *, upstreams: Mapping[str, str], clock: Clock
    ) -> None:
        super().__init__(branch, journal, playback=fork.playback, upstreams=upstreams, clock=clock)
        self._fork = fork
        self.played = 0

    async def _answer(self, request: HttpRequest, exchange: Exchange) -> None:
        asked = self._read(request)
        if asked.model is None:
            await super()._answer(request, exchange)
            return
        try:
            turn = self._fork.turn(asked.model)
        except DivergenceError as error:
            await self._tell(request, exchange, error.verdict.text())
            return
        if turn.plays:
            await self._play_on(turn, asked, request, exchange)
            return
        if turn.leaves:
            self._go_on_from(self._fork.step.started_ms)
        await self._give(turn.edit, asked, request, exchange)

    async def _play_on(
        self, turn: ForkTurn, asked: ProviderRequest, request: HttpRequest, exchange: Exchange
    ) -> None:
        """Answer from the tape, and keep the exchange on the branch."""
        assert asked.model is not None
        number, http = self.tape.next_number(), call_of(asked, request)
        sent = await self._play(asked.model, request, exchange)
        if sent is None:
            return
        frames = sent.frames
        if frames is not None:
            frames = msgspec.structs.replace(frames, of=digest(sent.response))
        sent = msgspec.structs.replace(
            sent, http=http, frames=frames, timestamp=self._clock.wall().isoformat()
        )
        self._keep_played(renumbered(sent, number, asked.model))
        if turn.leaves:
            self._go_on_from(self._fork.step.ended_ms)

    def _keep_played(self, exchange: RecordedExchange) -> None:
        self._keep(exchange)
        self.played += 1
        self.recorded -= 1

    def _go_on_from(self, passed: float) -> None:
        """Let the times of the branch go on from a moment of the tape, in milliseconds."""
        self._begun = self._clock.now() - passed / 1000

    async def _give(
        self, edit: RequestEdit | None, asked: ProviderRequest, request: HttpRequest, exchange: Exchange
    ) -> None:
        """Hand a request on, with its edit."""
        assert self._upstreams is not None
        if edit is not None:
            try:
                asked, request = self._edited(edit, asked, request)
            except (EnvironmentProblem, RequestRejected) as problem:
                self.unreachable.append(str(problem))
                await self._tell(request, exchange, str(problem), status=502)
                return
        await self._pass_on(asked, request, exchange, self._upstreams)

    def _edited(
        self, edit: RequestEdit, asked: ProviderRequest, request: HttpRequest
    ) -> tuple[ProviderRequest, HttpRequest]:
        assert asked.model is not None
        wanted = edited(asked.model, edit)
        route = find_route(request.method, request.path, request.query, request.headers)
        assert route is not None
        changed = request._replace(body=edited_body(route.format, request.body, edit))
        model = self._read(changed).model
        if model is None or any(getattr(model, name) != getattr(wanted, name) for name in _COMPARED):
            raise EnvironmentProblem(
                "the change cannot be made in this request",
                expected="a request that differs in nothing else",
                seen=f"a body of the format {route.format} that cannot be read with the change",
                hint="change the reply of the step instead: --set llm.reply=TEXT",
            )
        return asked._replace(model=model), changed
