"""Rules and scripts: what a model is told to say.

A script is an ordered list of rules. A queued reply is a rule without a condition that serves once. Rules go
by priority, then by registration; a rule serves `times` and then steps aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from soundstage.errors import MatchError, Problem, ScriptError, ScriptLoadError
from soundstage.match import Matcher, matcher
from soundstage.messages import ModelRequest
from soundstage.models._conditions import TextCondition, When, compile_conditions
from soundstage.models._reply import ErrorSpec, Fault, Reply, as_reply

Answer = Reply | Callable[[ModelRequest], Any]


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a caller is recognised where the protocol does not say who it is.

    Args:
        name: the agent's name in conditions and in the trace.
        when: conditions of the request; all must hold.
        router: a router hands work out; it never counts as `previous_agent`. `orchestrator` is one anyway.
        phase: an expression whose first group, found in the system prompt, is the phase: `/Phase: (\\w+)/`.
    """

    name: str
    when: When
    router: bool = False
    phase: str = ""


class Rule(NamedTuple):
    """One rule, ready to use. `number` counts registrations from 1; `where` is `file:line` if it has one."""

    number: int
    conditions: tuple[tuple[str, Matcher], ...]
    reply: Answer
    priority: int = 0
    times: int | None = None
    name: str = ""
    where: str = ""

    @property
    def label(self) -> str:
        """How messages call it."""
        title = f"rule {self.number}" + (f" {self.name!r}" if self.name else "")
        return f"{title} ({self.where})" if self.where else title

    def describe(self) -> str:
        """Its conditions in words."""
        if not self.conditions:
            return "always" if self.times != 1 else "queued reply"
        return ", ".join(f"{name} {condition.describe()}" for name, condition in self.conditions)


class _On:
    """A condition that waits for its replies; what `Script.on` returns."""

    def __init__(self, script: Script, when: When, options: dict[str, Any]) -> None:
        self._script = script
        self._when = when
        self._options = options

    def reply(self, reply: str | Reply | Callable[[ModelRequest], Any] | None = None, /, **fields: Any) -> _On:
        """Answer with text, a `Reply`, the fields of one, or what a function of the request returns."""
        self._script.add(self._when, _answer(reply, fields), **self._options)
        return self

    def error(self, status: int = 500, message: str = "scripted error", /, **fields: Any) -> _On:
        """Answer with an error; `fields` are those of `ErrorSpec`: `type`, `retry_after`, ..."""
        return self.reply(Reply(error=ErrorSpec(status=status, message=message, **fields)))

    def fault(
        self, type: str, /, reply: str | Reply = "", *, after: int = 0, seconds: float | None = None  # noqa: A002
    ) -> _On:
        """Let `cut`, `stall`, `garbled` or `empty` happen to `reply`, after so many of its chunks."""
        fault = msgspec.convert({"type": type, "after": after, "seconds": seconds}, Fault)
        body = as_reply(reply) if reply else Reply(text="", fault=fault)
        return self.reply(msgspec.structs.replace(body, fault=fault))


def _answer(reply: Any, fields: dict[str, Any]) -> Answer:
    if callable(reply) and not fields:
        return reply  # type: ignore[no-any-return]
    if isinstance(reply, str):
        return as_reply({"text": reply, **fields})
    return as_reply(fields if reply is None else reply)


class Script:
    """What a scripted model says, and when.

    Args:
        strict: a request that no rule answers is an error, and so is a rule that was never used.

    Example:
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> _ = script.on(user="/bye/i", times=1).error(529, "busy", retry_after=1)
        >>> script.queue("queued: serves once, in order")
        >>> len(script.rules)
        3
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.rules: list[Rule] = []
        self.agents: list[AgentSpec] = []
        self.default: Reply = Reply(text="nothing scripted for that")
        self.version = 0  # grows with every change, so that a model knows when to look again

    def on(self, *, priority: int = 0, times: int | None = None, name: str = "", **conditions: Any) -> _On:
        """Begin a rule: `script.on(user="hello", iteration=1).reply("hi")`.

        Args:
            priority: higher ones are asked first; equal ones in the order of registration.
            times: how often it serves; without limit unless given.
            name: how messages call it.
            conditions: see `When`; functions and matchers are allowed too.

        Raises:
            ScriptError: for an unknown condition or a bad expression.
        """
        known = When.__struct_fields__
        unknown = [key for key in conditions if key not in known]
        if unknown:
            raise ScriptError(
                f"unknown condition {unknown[0]!r}",
                expected="one of " + ", ".join(known),
                hint=nearest_hint(unknown[0], known),
            )
        return _On(self, When(**conditions), {"priority": priority, "times": times, "name": name})

    def queue(self, *replies: str | Reply) -> None:
        """Add replies that serve once each, in order, whatever is asked."""
        for reply in replies:
            self.add(When(), as_reply(reply), times=1)

    def add(
        self,
        when: When,
        reply: Answer,
        *,
        priority: int = 0,
        times: int | None = None,
        name: str = "",
        where: str = "",
    ) -> Rule:
        """Add a rule; without conditions and `times` it serves once."""
        conditions = compile_conditions(when)
        if times is not None and times < 1:
            raise ScriptError("a rule serves at least once", seen=f"times={times}")
        rule = Rule(
            number=len(self.rules) + 1,
            conditions=conditions,
            reply=reply,
            priority=priority,
            times=1 if times is None and not conditions else times,
            name=name,
            where=where,
        )
        self.rules.append(rule)
        self.version += 1
        return rule

    def agent(self, name: str, *, router: bool = False, phase: str = "", **conditions: TextCondition) -> None:
        """Say how an agent is recognised: `script.agent("executor", system="/you are the executor/i")`."""
        self.agents.append(
            AgentSpec(name=name, when=When(**conditions), router=router, phase=phase)  # type: ignore[arg-type]
        )
        self.version += 1

    def otherwise(self, reply: str | Reply | None = None, /, **fields: Any) -> None:
        """The reply when no rule matches and the script is not strict."""
        found = _answer(reply, fields)
        if not isinstance(found, Reply):
            raise ScriptError("the default is a fixed reply", hint="use on().reply(function) with priority=-1")
        self.default = found
        self.version += 1

    def ordered(self) -> list[Rule]:
        """The rules in the order in which they are asked."""
        return sorted(self.rules, key=lambda rule: (-rule.priority, rule.number))

    def check(self) -> None:
        """Refuse a script with rules that can never fire.

        Raises:
            ScriptLoadError: with one problem for each of them.
        """
        from soundstage.models._lint import shadowed

        found = shadowed(self.ordered())
        if found:
            raise ScriptLoadError([Problem(*_place(hidden.where), "", text) for hidden, text in found])


def _place(where: str) -> tuple[str, int]:
    file, _, line = where.rpartition(":")
    return (file, int(line)) if line.isdigit() else ("script", 0)


def nearest_hint(word: str, known: Sequence[str]) -> str:
    """`did you mean ...?` for a misspelt key, or nothing."""
    import difflib

    found = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {found[0]!r}?" if found else ""


def phase_matcher(spec: str) -> Matcher | None:
    """The expression that finds a phase in a system prompt.

    Raises:
        MatchError: if it is not `/regex/` with a group.
    """
    if not spec:
        return None
    found = matcher(spec)
    if getattr(found, "pattern", "").count("(") == 0:
        raise MatchError("a phase is found by an expression with a group", seen=spec, hint="/Phase: (\\w+)/")
    return found
