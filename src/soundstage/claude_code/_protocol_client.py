"""The protocol of one session: one process, prompt by prompt.

How it works. The CLI reads JSON lines and writes JSON lines. A prompt is a line; everything that it then says
belongs to that turn, up to a `result`. Only then may the next prompt be sent: the CLI would merge an earlier
one into the turn that is under way. Control requests, such as `interrupt`, have ids and may be sent at any
time; the CLI sends some of its own, for hooks and permissions that are functions of the test. Lines are
handled as they come, in the task that reads them.

A turn ends in one of five ways: with its result; with a timeout or with the cancellation of the test, which
both end the process; with the exit of the process; or with a result that we cannot read, because the CLI is
of another version. Nothing waits without also waiting for the exit of the process.

A model script that has no answer ends the session too: what the CLI makes of it (`API Error`) would hide that
the script is to blame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from soundstage.claude_code._binary import INSTALL, TESTED_VERSION, too_old
from soundstage.claude_code._callbacks import Callbacks
from soundstage.claude_code._log import SessionLog
from soundstage.claude_code._messages import (
    ControlResponse,
    Init,
    StreamMessage,
    TurnResult,
    UnknownMessage,
)
from soundstage.claude_code._options import SessionOptions, arguments
from soundstage.claude_code._stream import decode_line, encode_control, encode_prompt
from soundstage.claude_code._turn import ClaudeTurn, describe
from soundstage.claude_code._work import notification
from soundstage.clock import time_limit
from soundstage.errors import (
    AppError,
    EnvironmentProblem,
    HarnessError,
    InvalidStateError,
    ScriptError,
    SoundstageError,
    WaitTimeout,
)
from soundstage.journal import (
    FactMissed,
    HookFired,
    Journal,
    MessageReceived,
    MessageSent,
    ModelFailed,
    ModelRequested,
    UsageReported,
)
from soundstage.lifecycle import GRACE, Isolator, Process
from soundstage.match import preview
from soundstage.messages import ModelRequest
from soundstage.worlds import HeadLog, commits_between, head_log

WITHIN: Final = 60.0
CONTROL_WITHIN: Final = 10.0
SHOWN: Final = 8  # messages that an error shows
_NOT_RUNNABLE: Final = 126  # exit codes from here on are those of shells and signals
LINE_LIMIT: Final = 64 * 1024 * 1024  # bytes; a line may hold pictures
T = TypeVar("T")


class _OpenTurn:
    """A prompt without its result yet."""

    def __init__(self, prompt: str, position: int, log: HeadLog) -> None:
        self.prompt = prompt
        self.position = position
        self.log = log  # of git, before it
        self.messages: list[StreamMessage] = []
        self.done: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()


class ProtocolClient:
    """The client of a running CLI's protocol: prompts, control requests, the end. `ClaudeSession` builds on it."""

    def __init__(
        self,
        journal: Journal,
        cli: Path,
        options: SessionOptions,
        *,
        session_id: str,
        cwd: Path,
        environment: Mapping[str, str],
        source: str,
        scratch: Path | None = None,
        isolator: Isolator | None = None,
        grace: float = GRACE,
    ) -> None:
        self.id = session_id
        self.options = options
        self.unfinished: ClaudeTurn | None = None
        """The turn that ended without a result: it took too long, the CLI exited, the script had no answer."""
        self._journal = journal
        self._cwd = cwd
        self._grace = grace
        self._log = SessionLog(journal, source)
        self._process = Process(
            [str(cli), *arguments(options, session_id)],
            journal,
            source=source,
            cwd=cwd,
            environment=environment,
            on_line=self._heard,
            line_limit=LINE_LIMIT,
            scratch=scratch,
            isolator=isolator,
        )
        self._callbacks = Callbacks(
            options.hooks, options.permission, send=self._process.write, told=self._told_hook
        )
        self._turn: _OpenTurn | None = None
        self._controls: dict[str, asyncio.Future[ControlResponse]] = {}
        self._asked = 0
        self._cost = 0.0
        self._inits: list[Init] = []  # the first and the newest
        self._ended = False

    @property
    def pid(self) -> int:
        """The process id of the CLI."""
        return self._process.pid

    async def start(self) -> None:
        """Start the CLI; it says nothing before the first prompt."""
        await self._process.start()
        if self.options.hooks or self.options.agent:
            await self._initialize()

    async def _initialize(self) -> None:
        """Announce the hooks, and look whether the agent is there: the CLI would go on without it."""
        answer = await self.control("initialize", within=WITHIN, **self._callbacks.registration())
        agents = [str(found.get("name")) for found in answer.get("agents") or () if isinstance(found, dict)]
        if self.options.agent and self.options.agent not in agents:
            raise AppError(
                f"Claude Code has no agent {self.options.agent!r}",
                expected="one of " + ", ".join(agents),
                hint="agents of plugins have the plugin's name before them: `demo:reviewer`",
            )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()

    async def prompt(self, text: str, *, within: float = WITHIN) -> ClaudeTurn:
        """Send a prompt, or a slash command, and wait for the result.

        Args:
            text: what to ask.
            within: seconds for the whole turn.

        Raises:
            WaitTimeout: if it takes longer; the CLI is ended, and the message shows its last messages.
            AppError: if the CLI exits instead; the message shows its exit code and standard error.
            ScriptError: if the model's script had no answer; the session has been ended.
            InvalidStateError: while another prompt is under way.
        """
        if self._turn is not None:
            raise InvalidStateError(
                "a turn is under way",
                seen=preview(self._turn.prompt),
                hint="await the first prompt, then ask again",
            )
        self._refuse_if_over()
        received = MessageReceived(text=text, channel=self.id, sender="test")
        turn = self._turn = _OpenTurn(text, self._log.append(received, None), head_log(self._cwd))
        try:
            return await self._finished(turn, within)
        except BaseException as error:
            self.unfinished = self._turn_of(turn, self._no_result(error))
            raise

    async def _finished(self, turn: _OpenTurn, within: float) -> ClaudeTurn:
        """Send the prompt, wait for its result, and raise what the test or its script did wrong meanwhile."""
        try:
            async with time_limit(within):
                await self._process.write(encode_prompt(turn.prompt))
                result = await self._unless_exited(turn.done)
        except TimeoutError:
            await self._process.terminate(grace=self._grace)
            raise self._too_late(turn, within) from None
        except asyncio.CancelledError:
            await self._process.killed()
            raise
        finally:
            self._turn = None
        self._callbacks.raise_what_failed()
        if result.is_error:
            await self._blame_the_script(turn.position)
        return self._turn_of(turn, result)

    def _turn_of(self, turn: _OpenTurn, result: TurnResult) -> ClaudeTurn:
        cost, self._cost = max(result.total_cost_usd - self._cost, 0.0), result.total_cost_usd
        log = head_log(self._cwd)
        commits = commits_between(turn.log, log)
        if log.problem:
            self._log.append(FactMissed(what="commits", reason=log.problem), turn.position)
        for commit in commits:
            self._log.append(commit, turn.position)
        if result.data:
            self._log.append(UsageReported(usage=result.usage, cost=cost), turn.position)
        return ClaudeTurn(
            prompt=turn.prompt,
            messages=tuple(turn.messages),
            result=result,
            cost_usd=cost,
            requests=self._requests_since(turn.position),
            commits=commits,
        )

    def _no_result(self, error: BaseException) -> TurnResult:
        """A stand-in for a result that has not come."""
        said = error.summary if isinstance(error, SoundstageError) else type(error).__name__
        return TurnResult(
            data={},
            is_error=True,
            subtype="unfinished",
            session_id=self.id,
            text=said,
            total_cost_usd=self._cost,
        )

    def _requests_since(self, position: int) -> tuple[ModelRequest, ...]:
        """Return the requests to the model in this session, side requests left out."""
        asked = [record.event for record in self._journal.read(position, ModelRequested)]
        return tuple(
            event.request
            for event in asked
            if isinstance(event, ModelRequested)
            and event.request.caller.conversation == self.id
            and event.request.purpose == "main"
        )

    async def _blame_the_script(self, position: int) -> None:
        """Raise what the model's side did wrong in this session since `position`, if it did."""
        asked = {
            record.position
            for record in self._journal.read(position, ModelRequested)
            if isinstance(record.event, ModelRequested)
            and record.event.request.caller.conversation == self.id
        }
        for record in self._journal.read(position, ModelFailed):
            failed = record.event
            if isinstance(failed, ModelFailed) and record.cause in asked and failed.reason in _BLAMED:
                await self.end()
                raise _BLAMED[failed.reason](
                    "the model had no answer for Claude Code; the session has been ended",
                    expected="an answer to every request",
                    seen=failed.message,
                    hint="add a rule, or a default; `session.transcript()` has what was said until then",
                )

    def _refuse_if_over(self) -> None:
        if self._ended:
            raise InvalidStateError(
                "the session has been ended", hint="open another one: resume=ID goes on with it"
            )
        if not self._process.alive:
            raise self._exit_error("it has ended before this prompt")

    async def _unless_exited(self, future: asyncio.Future[T]) -> T:
        """The result of `future`, or an error when the process is over without it."""
        over = asyncio.ensure_future(self._process.wait())
        either: set[asyncio.Future[Any]] = {future, over}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
        if not future.done():
            raise self._exit_error("it exited in the middle of the turn")
        return future.result()

    def _exit_error(self, when: str) -> AppError | EnvironmentProblem:
        code = self._process.code or 0
        if not self._inits and (code < 0 or code >= _NOT_RUNNABLE):
            return EnvironmentProblem(
                "the Claude Code CLI crashes before it says anything",
                expected=f"a CLI that runs on this machine, such as version {TESTED_VERSION}",
                seen=self._process.describe_exit(),
                hint=INSTALL,
            )
        return AppError(
            f"Claude Code is not running: {when}",
            expected="a running CLI",
            seen=self._process.describe_exit(),
            hint="look at its events in the journal; extra_args=['--debug-file', PATH] makes it log more",
        )

    def _too_late(self, turn: _OpenTurn, within: float) -> WaitTimeout:
        shown = [describe(message) for message in turn.messages[-SHOWN:]]
        return WaitTimeout(
            f"Claude Code did not finish within {within:g} s; it has been ended",
            expected=f"a result for {preview(turn.prompt)}",
            seen="\n".join([*(shown or ["no message at all"]), self._process.describe_exit()]),
            hint="the journal shows whether a request was left without an answer; `within=` gives more time",
        )

    async def interrupt(self, *, within: float = CONTROL_WITHIN) -> None:
        """Break off the turn that is under way. Its prompt returns with an error; the session goes on."""
        await self.control("interrupt", within=within)

    async def control(self, subtype: str, *, within: float = CONTROL_WITHIN, **fields: Any) -> dict[str, Any]:
        """Send a control request and return its answer: `mcp_status`, `set_permission_mode`, `initialize`...

        Raises:
            AppError: if the CLI refuses it, or exits.
            WaitTimeout: if it does not answer in time.
        """
        self._refuse_if_over()
        self._asked += 1
        request_id = f"control-{self._asked}"
        self._log.note(f"control request: {subtype}", fields, self._cause)
        future: asyncio.Future[ControlResponse] = asyncio.get_running_loop().create_future()
        self._controls[request_id] = future
        try:
            async with time_limit(within):
                await self._process.write(encode_control(request_id, subtype, fields))
                answer = await self._unless_exited(future)
        except TimeoutError:
            raise WaitTimeout(f"Claude Code did not answer {subtype!r} within {within:g} s") from None
        finally:
            del self._controls[request_id]
        if answer.error:
            raise AppError(f"Claude Code refuses the control request {subtype!r}", seen=answer.error)
        return answer.response

    async def end(self) -> int:
        """End the CLI: close its input, and be less polite if that does not help. Returns its exit code."""
        self._ended = True
        try:
            return await self._process.end(grace=self._grace)
        finally:
            await self._callbacks.close()

    # --- what the CLI says

    @property
    def _cause(self) -> int | None:
        return self._turn.position if self._turn is not None else self._process.started_at

    def _heard(self, channel: str, line: str) -> None:
        if channel != "stdout" or not line:
            return
        message = decode_line(line)
        if self._turn is not None:
            self._turn.messages.append(message)
        self._log.heard(message, self.id, self._cause)
        match message:
            case Init():
                self._on_init(message)
            case TurnResult():
                self._on_result(message)
            case ControlResponse():
                self._on_answer(message)
            case UnknownMessage(type="control_request"):
                self._callbacks.asked(message.data)
            case UnknownMessage(type="conversation_reset"):
                self._cost = 0.0  # the CLI counts from zero again
            case UnknownMessage(type="result") if message.problem:
                self._on_unreadable(message)

    def _told_hook(self, fired: HookFired) -> None:
        at = self._log.append(fired, self._cause)
        if fired.event == "Notification":
            self._log.append(notification(fired.input), at)

    def _on_init(self, message: Init) -> None:
        self._inits = [*self._inits[:1], message]
        self.id = message.session_id  # another one after /clear
        if self._turn is not None and not self._turn.done.done() and too_old(message.version):
            self._turn.done.set_exception(
                EnvironmentProblem(
                    "the Claude Code CLI is too old",
                    expected=f"version {TESTED_VERSION}, or a newer one",
                    seen=f"version {message.version}",
                    hint=INSTALL,
                )
            )

    def _on_result(self, message: TurnResult) -> None:
        turn = self._turn
        if turn is None or message.origin or turn.done.done():
            return  # not an answer to a prompt; the note tells
        self._log.append(
            MessageSent(text=message.text, channel=self.id, sender=self._log.source), turn.position
        )
        turn.done.set_result(message)

    def _on_answer(self, message: ControlResponse) -> None:
        future = self._controls.get(message.request_id)
        if future is not None and not future.done():
            future.set_result(message)

    def _on_unreadable(self, message: UnknownMessage) -> None:
        if self._turn is not None and not self._turn.done.done():
            self._turn.done.set_exception(
                HarnessError(
                    "the result of Claude Code has another shape than expected",
                    expected=f"the fields that version {TESTED_VERSION} sends",
                    seen=f"{message.problem} in {preview(repr(message.data), 400)}",
                    hint=f"install the CLI that Soundstage was tested with: {INSTALL}",
                )
            )


_BLAMED: Final[dict[str, type[ScriptError | HarnessError]]] = {
    "no_match": ScriptError,
    "script": ScriptError,
    "replay_mismatch": ScriptError,
    "harness": HarnessError,
}
