"""Normalised traces: equal for two runs of one script, in process or over any wire. Plain JSON values.

Left out: positions, times, ids, wire formats, token counts, and what the app sent (prompts differ between
formats). Conversations are told apart by their order, and steps are grouped by conversation, so that it does
not matter how two conversations at the same time interleave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from soundstage.errors import ScriptError
from soundstage.match import FLAGS, Regex
from soundstage.trace._types import MessageLine, Step, ToolUse, TraceFields

_REGEX: Final = re.compile(r"/(?P<pattern>.+)/(?P<flags>[imsx]*)", re.DOTALL)
_WORD: Final = re.compile(r"[\w-]+")
_PLAIN: Final = re.compile(r"\w+")
_SHORTEST: Final = 8  # a shorter id in a text may be a word; it is left as it is


def normalise(
    trace: TraceFields,
    *,
    mask: Mapping[str | re.Pattern[str], str] | None = None,
    models: bool = False,
) -> dict[str, Any]:
    """The trace as JSON values that can be compared for equality across runs and wire formats.

    It has the conversations in order, each with its steps (agent, purpose, text, tool calls with
    arguments and results, failure), the messages of the worlds, and other failures. Tool calls are numbered
    in order; where a text quotes the id of a call or of a conversation (of 8 characters or more), it becomes
    `<call 1>` or `<conversation 1>`.

    Args:
        trace: what to normalise.
        mask: what else to replace, in this order, and by what: plain text, `/regex/flags` with flags out of
            `imsx`, or a compiled expression. A path that could be taken for an expression, such as `/tmp/x/`,
            is given as `re.compile(re.escape(path))`.
        models: whether the models' names belong to it.

    Raises:
        ScriptError: for a mask that is empty or no expression.

    Example:
        >>> from soundstage.trace import build_trace
        >>> normalise(build_trace([]))
        {'conversations': [], 'messages': [], 'failures': []}
    """
    return _Normaliser(trace, masks_of(mask or {}), models=models).document()


def masks_of(mask: Mapping[str | re.Pattern[str], str]) -> list[Callable[[str], str]]:
    """A function for each mask that replaces it in a text.

    Args:
        mask: a text or an expression, with what stands in its place; a text such as `/[0-9]+/` is an expression.

    Raises:
        ScriptError: for a mask that is empty or no expression.
    """
    return [_mask(what, by) for what, by in mask.items()]


def _mask(what: str | re.Pattern[str], by: str) -> Callable[[str], str]:
    """A function that replaces `what` in a text."""
    if not isinstance(what, re.Pattern):
        if not what:
            raise ScriptError("a mask without a text replaces nothing", hint="leave it out")
        found = _REGEX.fullmatch(what)
        if found is None:
            plain = what
            return lambda text: text.replace(plain, by)
        Regex(found["pattern"], found["flags"])  # refuses what is no expression, in our words
        what = re.compile(found["pattern"], sum(FLAGS[flag] for flag in set(found["flags"])))
    expression = what
    return lambda text: expression.sub(lambda _: by, text)


class _Normaliser:
    """Normalises one trace."""

    def __init__(self, trace: TraceFields, masks: list[Callable[[str], str]], *, models: bool) -> None:
        self._trace = trace
        self._masks = masks
        self._models = models
        self._conversations: dict[str, list[Step]] = {}
        for step in trace.steps:
            self._conversations.setdefault(step.conversation, []).append(step)
        asked = [use for steps in self._conversations.values() for step in steps for use in step.tools]
        known = {id(use) for use in asked}
        self._loose = [use for use in trace.tools if id(use) not in known]  # known from events only
        self._numbers = {id(use): number for number, use in enumerate([*asked, *self._loose], 1)}
        self._ids = self._quoted([*asked, *self._loose])
        self._odd = [name for name in self._ids if not _WORD.fullmatch(name)]

    def _quoted(self, uses: list[ToolUse]) -> dict[str, str]:
        """The ids that texts may quote, and what becomes of them. An id used twice stands for the first."""
        found = {name: f"<conversation {n}>" for n, name in enumerate(self._conversations, 1)}
        for number, use in enumerate(uses, 1):
            found.setdefault(use.call_id, f"<call {number}>")
        return {name: by for name, by in found.items() if len(name) >= _SHORTEST}

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "conversations": [
                {"steps": [self._step(step) for step in steps]} for steps in self._conversations.values()
            ],
            "messages": [self._message(line) for line in self._trace.messages],
            "failures": [
                self._clean({"what": failure.what, "message": failure.message})
                for failure in self._trace.failures
                if failure.what != "model"  # these are in their steps
            ],
        }
        return {**found, "tools": [self._use(use) for use in self._loose]} if self._loose else found

    def _message(self, line: MessageLine) -> Any:
        return self._clean(
            {"direction": line.direction, "channel": line.channel, "sender": line.sender, "text": line.text}
        )

    def _step(self, step: Step) -> dict[str, Any]:
        found: dict[str, Any] = {
            "agent": step.agent,
            "purpose": step.purpose,
            "text": step.text,
            "tools": [],
        }
        if self._models:
            found["model"] = step.model
        failure = step.failure
        if failure is not None:
            found["failure"] = {
                "reason": failure.reason,
                "status": failure.status,
                "message": failure.message,
            }
        elif step.response is None:
            found["failure"] = {"reason": "unfinished"}
        cleaned: dict[str, Any] = self._clean(found)
        return {**cleaned, "tools": [self._use(use) for use in step.tools]}

    def _use(self, use: ToolUse) -> dict[str, Any]:
        return {
            "call": self._numbers[id(use)],
            "name": use.name,
            "arguments": self._clean(use.raw or use.arguments),
            "result": self._clean(use.result),
            "is_error": use.is_error,
        }

    def _clean(self, value: Any) -> Any:
        """`value` with all texts in it masked, keys too."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._text(str(key)): self._clean(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(part) for part in value]
        return value

    def _text(self, text: str) -> str:
        for mask in self._masks:
            text = mask(text)
        if not self._ids:
            return text
        for name in self._odd:
            text = text.replace(name, self._ids[name])
        return _WORD.sub(self._word, text)

    def _word(self, found: re.Match[str]) -> str:
        word = found[0]
        by = self._ids.get(word)
        if by is None and "-" in word:
            return _PLAIN.sub(lambda part: self._ids.get(part[0], part[0]), word)
        return word if by is None else by
