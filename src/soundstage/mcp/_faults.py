"""Faults that a test has asked for. Pure: the session strikes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from soundstage.errors import ScriptError
from soundstage.mcp._answer import Mishap
from soundstage.mcp._jsonrpc import Id

Occasion = Literal["connect", "start", "call"]
Action = Literal["refuse", "delay", "fail", "reject"] | Mishap


class McpFault(NamedTuple):
    """Something that is to go wrong.

    Args:
        at: when.
        action: what happens then.
        times: how often; `None` until it is taken back.
        tool: the tool that it is about; any unless given.
        seconds: how late the answer is.
        text: what the client is told.
        code: of a JSON-RPC error.
    """

    at: Occasion
    action: Action
    times: int | None = 1
    tool: str = ""
    seconds: float = 0.0
    text: str = ""
    code: int = 0

    @property
    def name(self) -> str:
        """The effect, in words."""
        return f"{self.action} at {self.at}"

    @property
    def detail(self) -> dict[str, Any]:
        """The details that the journal says besides."""
        facts = {"times": self.times, "tool": self.tool, "seconds": self.seconds}
        facts |= {"text": self.text, "code": self.code}
        return {name: value for name, value in facts.items() if value}


class McpPendingFaults:
    """The faults that have not struck yet, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._waiting: list[tuple[McpFault, int]] = []  # and how often it has struck

    def add(self, fault: McpFault) -> None:
        """Let something go wrong.

        Raises:
            ScriptError: for `times` or `seconds` that are no such number.
        """
        if fault.times is not None and (type(fault.times) is not int or fault.times < 1):
            raise ScriptError("a fault strikes at least once", seen=f"times={fault.times!r}")
        if not fault.seconds >= 0:
            raise ScriptError("a delay is 0 seconds or more", seen=f"seconds={fault.seconds!r}")
        self._waiting.append((fault, 0))

    def take_back(self) -> list[McpFault]:
        """Forget all that have not struck. Returns them."""
        gone, self._waiting = [fault for fault, _ in self._waiting], []
        return gone

    def strike(self, at: Occasion, tool: str = "") -> McpFault | None:
        """The fault that strikes at this occasion, if one does."""
        for place, (fault, struck) in enumerate(self._waiting):
            if fault.at != at or (fault.tool and fault.tool != tool):
                continue
            self._waiting[place] = (fault, struck + 1)
            if fault.times is not None and struck + 1 >= fault.times:
                del self._waiting[place]
            return fault
        return None


def _half(_: Id, answer: bytes) -> list[bytes]:
    return [answer[: len(answer) // 2]]


def _other_id(_: Id, answer: bytes) -> list[bytes]:
    return [answer.replace(b'"id":', b'"id":99999', 1) if b'"id":"' not in answer else _renamed(answer)]


def _renamed(answer: bytes) -> bytes:
    return answer.replace(b'"id":"', b'"id":"another-', 1)


GARBLED: Final[dict[str, Callable[[Id, bytes], list[bytes]]]] = {
    "not json": lambda *_: [b"Traceback (most recent call last): KeyError: 'result'"],
    "half": _half,
    "other id": _other_id,
    "no version": lambda _, answer: [answer.replace(b'"jsonrpc":"2.0",', b"", 1)],
    "both": lambda _, answer: [answer[:-1] + b',"error":{"code":-32603,"message":"and an error"}}'],
    "twice": lambda _, answer: [answer, answer],
    "log line": lambda _, answer: [b"INFO: handling the request", answer],
}
"""Spoilt answers: for each form, the messages that are sent in the place of one."""

MISHAPS: Final = ("hang", "disconnect", *GARBLED)


def garbled(form: str, identity: Id, answer: bytes) -> list[bytes]:
    """The messages that are sent instead of `answer`."""
    return GARBLED[form](identity, answer)


def need_form(form: str) -> None:
    """Refuse a form that does not exist.

    Raises:
        ScriptError: if `form` is none.
    """
    if form not in GARBLED:
        raise ScriptError(
            f"there is no way {form!r} to spoil an answer", expected="one of " + ", ".join(GARBLED)
        )
