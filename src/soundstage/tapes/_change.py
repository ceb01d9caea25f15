"""Changes of a fork: what is another at one step of a tape, and which requests after it get it too. Pure.

A program sends its whole history with each request, and knows nothing of the change. So a change of what the model is
given counts for every request that carries the original: the same system prompt, the same result of the same call.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from soundstage.clock import IdSource
from soundstage.errors import TapeError, UnknownNameError, WrongValueError, did_you_mean
from soundstage.messages import FinishChunk, ModelRequest, ToolCall, ToolResult, Usage, respond
from soundstage.models import Reply
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._rewrite import RequestEdit, ResultEdit, SystemEdit, leading, results_of
from soundstage.tapes._surroundings import Normal

PATHS: Final = ("llm.system+=TEXT", "llm.system=TEXT", "tool.NAME.result=TEXT", "llm.reply=TEXT")
_SET: Final = re.compile(r"(llm\.system)(\+?=)|tool\.(.+?)\.result=|(llm\.reply)=", re.DOTALL)


class SystemChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="system"):
    """Another system prompt.

    Args:
        was: the one that is changed.
        now: what stands in its place, or behind it.
        add: whether it stands behind it.
    """

    was: str = ""
    now: str = ""
    add: bool = False

    def edit_of(self, request: ModelRequest, normal: Normal) -> RequestEdit | None:
        """The edit of a request; none if it does not carry the original."""
        if normal(system_prompt(request)) != normal(self.was):
            return None
        return SystemEdit(self.now, add=self.add)


class ResultChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="result"):
    """Another result of a tool.

    Args:
        call_id: of the call that it answers.
        was: what the tool has said.
        now: what the model is told instead.
    """

    call_id: str
    was: str = ""
    now: str = ""

    def edit_of(self, request: ModelRequest, normal: Normal) -> RequestEdit | None:
        """The edit of a request; none if it does not carry the original."""
        for place, result in enumerate(results_of(request)):
            if result.call_id == self.call_id and normal(result.text) == normal(self.was):
                return ResultEdit(place, self.now)
        return None


class ReplyChange(NamedTuple):
    """Another reply of the model.

    Args:
        reply: it, as a script has it.
    """

    reply: Reply

    def exchange(self, recorded: RecordedExchange) -> RecordedExchange:
        """The exchange with the reply; its pieces are made anew."""
        before = recorded.response
        usage = self.reply.usage or (before.usage if before is not None else Usage())
        finish = FinishChunk(
            finish=self.reply.finish_reason, usage=usage, model=before.model if before is not None else ""
        )
        chunks = self.reply.chunks_for(IdSource(recorded.number), pieces=False)
        return msgspec.structs.replace(
            recorded, response=respond([*chunks, finish]), failure=None, chunks=(), frames=None
        )


RequestChange = SystemChange | ResultChange
Change = RequestChange | ReplyChange


class ForkOrigin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The tape that a branch has left, in the head of the branch.

    Args:
        tape: its name.
        at: the step at which the branch has left it.
        said: what was changed, in the user's words.
        change: of what the model is given. The program does not know of it, so a replay makes it too.
    """

    tape: str
    at: int
    said: str = ""
    change: RequestChange | None = None


def system_prompt(request: ModelRequest) -> str:
    """The text of the system prompt, without what stands as a system message between others."""
    return "\n".join(message.text for message in leading(request))


def change_of(text: str, step: RecordedExchange) -> Change:
    """The change that a text such as `llm.system+= Be brief.` names.

    Args:
        text: a path, `=` or `+=`, and the new text.
        step: the exchange at which the fork leaves the tape.

    Raises:
        UnknownNameError: for another path, or a tool without a result in that request.
        WrongValueError: for a tool with several new results, or an empty reply.
    """
    request = asked_in(step)
    found = _SET.match(text)
    if found is None:
        path = text.partition("=")[0].rstrip("+")
        raise UnknownNameError(
            f"a fork cannot change {path!r}",
            expected=", ".join(PATHS),
            hint=did_you_mean(path, [known.partition("=")[0].rstrip("+") for known in PATHS]),
        )
    system, sign, tool, _ = found.groups()
    value = text[found.end() :]
    if system:
        return SystemChange(was=system_prompt(request), now=value, add=sign == "+=")
    if tool:
        return result_change(request, result_named(request, tool), value)
    if not value:
        raise WrongValueError("a reply has a text", expected="llm.reply=TEXT", seen="no text")
    return ReplyChange(Reply(text=value))


def asked_in(step: RecordedExchange) -> ModelRequest:
    """The request of a step."""
    assert step.request is not None
    return step.request


def result_change(request: ModelRequest, result: ToolResult, text: str) -> ResultChange:
    """The change of one result. Objects that are no text on the wire of Gemini stay objects."""
    if request.format == "gemini" and (whole := _compact(text)) and _compact(result.text):
        text = whole
    return ResultChange(call_id=result.call_id, was=result.text, now=text)


def _compact(text: str) -> str:
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return ""
    return msgspec.json.encode(found).decode() if isinstance(found, dict) else ""


def tool_names(request: ModelRequest) -> dict[str, str]:
    """The name of the tool of each call, by the call's id."""
    return {
        part.id: part.name
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }


def result_named(request: ModelRequest, name: str) -> ToolResult:
    """The newest result of a tool, by its name, or by the id of the call.

    Raises:
        UnknownNameError: if there is none.
        WrongValueError: if several have come together.
    """
    names = tool_names(request)
    mine = [one for one in results_of(request) if name in (one.call_id, one.name, names.get(one.call_id))]
    new = [one for one in mine if one in request.tool_results]
    if len(new) > 1:
        listed = ", ".join(f"tool.{one.call_id}.result=" for one in new)
        raise WrongValueError(
            f"{len(new)} results of {name} have come with this request",
            expected=listed,
            seen=f"tool.{name}.result=",
            hint="name the call instead of the tool",
        )
    if not mine:
        known = [*dict.fromkeys(names.get(one.call_id, "") or one.name for one in results_of(request))]
        raise UnknownNameError(
            f"the request of this step has no result of a tool {name!r}",
            expected=", ".join(known) or "a step whose request brings a result of a tool",
            seen="" if known else "it has none",
            hint=did_you_mean(name, known),
        )
    return mine[-1]


def step_of(exchanges: tuple[RecordedExchange, ...], at: int, tape: str) -> RecordedExchange:
    """The exchange of a step: the model calls of a tape are counted from 1, as `soundstage show` counts them.

    Raises:
        TapeError: if there is no such step.
    """
    calls = [exchange for exchange in exchanges if exchange.request is not None]
    if 1 <= at <= len(calls):
        return calls[at - 1]
    raise TapeError(
        f"{tape} has no step {at}",
        expected=f"--at 1 to --at {len(calls)}" if calls else "a tape with a model call",
        seen=f"--at {at}; the tape has {len(calls)} model call(s)",
    )
