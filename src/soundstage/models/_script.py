"""Scripts: what a scripted model says, and when.

A script is an ordered list of rules, written in Python or read from a file; both ways give the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Never, Unpack

from soundstage.errors import (
    MatchError,
    ScriptError,
    ScriptLoadError,
    ScriptProblem,
    UnknownNameError,
    WrongTypeError,
    did_you_mean,
)
from soundstage.messages import ModelRequest, ToolCall
from soundstage.models._conditions import KINDS, WITHIN, TextCondition, When, compile_conditions
from soundstage.models._file import parse_data, parse_file, parse_text
from soundstage.models._identify import AgentSpec, phase_matcher
from soundstage.models._known import KnownNames
from soundstage.models._parsed import ParsedRule, ParsedScript
from soundstage.models._reply import Answer, Reply, as_reply
from soundstage.models._typing import Conditions, ReplyFields
from soundstage.scripts import Rule, RuleTable, Shadowed, in_words, load_python

Body = (
    str
    | Reply
    | ToolCall
    | BaseException
    | Sequence[ToolCall]
    | Mapping[str, Any]
    | Callable[[ModelRequest], Any]
    | None
)
NOTHING: Final = Reply(text="nothing scripted for that")


class _RuleBuilder:
    """A condition that waits for its replies; what `Script.on` returns."""

    def __init__(self, script: Script, when: When, options: dict[str, Any]) -> None:
        self._script = script
        self._when = when
        self._options = options

    def reply(
        self,
        reply: Body = None,
        /,
        **fields: Unpack[ReplyFields],
    ) -> _RuleBuilder:
        """Answer with text, a tool call, a `Reply`, or what a function of the request returns.

        `fields` are those of `Reply`; they are added to the text or the reply. A function may be
        asynchronous and may return whatever this takes; what it raises, the app gets.
        """
        self._script.add(self._when, _answer(reply, fields), **self._options)
        return self

    def error(self, status: int = 500, message: str = "scripted error", /, **fields: Any) -> _RuleBuilder:
        """Answer with an error; `fields` are those of `ErrorSpec`: `type`, `retry_after`, ..."""
        return self.reply(error={"status": status, "message": message, **fields})

    def fault(
        self,
        type: str,  # noqa: A002
        /,
        reply: str | Reply = "",
        *,
        after: int = 0,
        seconds: float | None = None,
    ) -> _RuleBuilder:
        """Let `cut`, `stall`, `garbled` or `empty` happen to `reply`, after so many of its chunks."""
        fault = {"type": type, "after": after, "seconds": seconds}
        return self.reply(as_reply(reply), fault=fault) if reply else self.reply(fault=fault)


def _answer(reply: Any, fields: Mapping[str, Any]) -> Answer:
    if isinstance(reply, Reply) or not callable(reply):
        return as_reply(reply, **fields)
    if fields:
        raise ScriptError(
            "a function makes the whole reply",
            seen=", ".join(fields),
            hint="let it return a Reply with these",
        )
    return reply  # type: ignore[no-any-return]


class Script:
    """An ordered list of rules: what a scripted model answers, and when.

    Args:
        strict: a request that no rule answers is an error, and so is a rule that was never used. Unless it is said,
            runs of a `HostBuilder` and of the pytest plugin are strict, if the script has no default reply.
        name: what it is about, for people.
        check_signatures: whether thinking that comes back without the signature that it had is refused, as providers
            do. False for histories that are written by hand.

    Example:
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> _ = script.on(user="/bye/i", times=1).error(529, "busy", retry_after=1)
        >>> script.queue("queued: serves once, in order")
        >>> len(script.rules)
        3
    """

    def __init__(self, *, strict: bool | None = None, name: str = "", check_signatures: bool = True) -> None:
        self.strict = strict
        self.name = name
        self.check_signatures = check_signatures
        self.rules = RuleTable(KINDS, within=WITHIN)
        self.agents: list[AgentSpec] = []
        self.default: Reply = NOTHING
        self.served: set[int] = set()  # numbers of the rules that a model has served, whichever
        self._known = KnownNames()
        self._held = (
            -1
        )  # the version whose names have been checked; later rules are checked when they are added
        self.version = 0  # grows with every change, so that a model knows when to look again

    @classmethod
    def load(cls, path: Path | str) -> Script:
        """Read a script file: YAML or JSON (also fixtures of aimock), or Python that defines `script`.

        Of a folder, all files in YAML and JSON that lie in it are read, in the order of their names, as one script.

        Rules that can never fire do not make a file unusable; `problems()` names them.

        Raises:
            ScriptLoadError: with every problem of the file, each with its line.
        """
        if Path(path).suffix == ".py":
            return load_python(path, cls)
        script = cls()
        script._take(parse_file(path))
        return script

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, source: str = "script") -> Script:
        """A script from data of the same form as a file.

        Args:
            data: `{"rules": [{"when": {...}, "reply": ...}, ...], ...}`; see `script_schema`.
            source: how problems call it.

        Raises:
            ScriptLoadError: with every problem.

        Example:
            >>> script = Script.from_data({"rules": [{"when": {"user": "hello"}, "reply": "hi"}]})
            >>> script.rules[0].describe()
            "user 'hello'"
        """
        script = cls()
        script._take(parse_data(data, source))
        return script

    def decide_strict(self) -> None:
        """Be strict unless somebody has said otherwise, or has given a default reply."""
        if self.strict is None:
            self.strict = self.default is NOTHING

    def _take(self, parsed: ParsedScript) -> int:
        """Add what was parsed, and return how many rules that were."""
        if parsed.problems:
            raise ScriptLoadError(parsed.problems)
        agents, length = [*self.agents], len(self.rules)
        try:
            for agent in parsed.agents:
                self._add_agent(agent)
            for when, reply, *options in parsed.rules:
                self.add(when, reply, **dict(zip(ParsedRule._fields[2:], options, strict=True)))  # type: ignore[arg-type]
        except UnknownNameError:
            self.agents = agents
            self.rules.shorten(length)
            raise
        self.default = parsed.default if parsed.default is not None else self.default
        self.strict = self.strict if parsed.strict is None else parsed.strict
        if parsed.check_signatures is not None:
            self.check_signatures = parsed.check_signatures
        self.name = self.name or parsed.name
        self.version += 1
        return len(parsed.rules)

    def on(
        self,
        *unnamed: Never,
        priority: int = 0,
        times: int | None = None,
        name: str = "",
        **conditions: Unpack[Conditions],
    ) -> _RuleBuilder:
        """Begin a rule: `script.on(user="hello", iteration=1).reply("hi")`.

        Args:
            priority: higher ones are asked first; equal ones in the order of registration.
            times: how often it serves; without limit unless given.
            name: how messages call it.
            conditions: see `When`; functions and matchers are allowed too.

        Raises:
            ScriptError: for an unknown condition or one without a name, or a bad expression.
        """
        if unnamed:
            raise _without_name(unnamed[0])
        when = _when(conditions)
        compile_conditions(when)
        return _RuleBuilder(self, when, {"priority": priority, "times": times, "name": name})

    def queue(self, *replies: str | Reply | ToolCall | Mapping[str, Any]) -> None:
        """Add replies that serve once each, in order, whatever is asked.

        Args:
            replies: text, a tool call (`soundstage.call`), a `Reply`, or the fields of one.

        Example:
            >>> from soundstage.messages import call
            >>> script = Script()
            >>> script.queue(call("read_file", {"path": "a.py"}), "done", {"error": {"status": 529}})
            >>> [rule.describe() for rule in script.rules]
            ['queued reply', 'queued reply', 'queued reply']
        """
        made = [as_reply(reply) for reply in replies]
        for reply in made:
            self.add(When(), reply, times=1)

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
        """Add a rule; without conditions and `times` it serves once.

        Raises:
            ScriptError: for a bad expression, or a `times` or `priority` that is no such number.
            WrongTypeError: if `when` is no `When`, `reply` neither a `Reply` nor a function, or a name no text.
            UnknownNameError: if the script is bound to a team, and the rule names what that does not have.
        """
        _check_types(when, reply)
        rule = self.rules.make(
            compile_conditions(when), reply, priority=priority, times=times, name=name, where=where
        )
        if self._held >= 0:
            self._known.check([*self.rules, rule], self.agents, only=[rule])
        self.version += 1
        return self.rules.put(rule)

    def bind(
        self,
        owner: str,
        *,
        agents: Iterable[str] | None = None,
        phases: Iterable[str] | None = None,
        tools: Iterable[str] | None = None,
        headers: Iterable[str] | None = None,
    ) -> None:
        """Take up the names that there are, for `validate_names`. Teams and stages do both by themselves.

        Args:
            owner: who knows them, for messages.
            agents: who asks the model; None: that is not known, and rules may name anybody. So with the others.
            phases: the phases of conversations.
            tools: the tools on offer.
            headers: the headers of requests.

        Example:
            >>> script = Script()
            >>> script.bind("the team", agents=["planner", "executor"])
            >>> script.validate_names()
            >>> try:
            ...     script.on(agent="excutor").reply("done")
            ... except ValueError as error:
            ...     print("executor" in str(error), len(script.rules))
            True 0
        """
        self._known.add(owner, {"agent": agents, "phase": phases, "tool": tools, "header": headers})
        self._held = min(self._held, 0)

    def validate_names(self, *, only: Collection[Rule] | None = None) -> None:
        """Refuse rules that name agents, phases, tools or headers that there are not, now and when they are added.

        Args:
            only: look at these rules, and only now.

        Raises:
            UnknownNameError: naming the rule, what there is, and the nearest name.
        """
        if only is not None:
            self._known.check(self.rules, self.agents, only=only)
        elif self._held != self.version:
            self._known.check(self.rules, self.agents)
            self._held = self.version

    def agent(self, name: str, *, router: bool = False, phase: str = "", **conditions: TextCondition) -> None:
        """Say how an agent is recognised: `script.agent("executor", system="/you are the executor/i")`.

        Raises:
            ScriptError: for an unknown condition or a bad expression.
        """
        self._add_agent(AgentSpec(name=name, when=_when(conditions), router=router, phase=phase))

    def _add_agent(self, spec: AgentSpec) -> None:
        compile_conditions(spec.when)
        phase_matcher(spec.phase)
        self.agents.append(spec)
        self.version += 1

    def otherwise(self, reply: str | Reply | None = None, /, **fields: Any) -> None:
        """The reply when no rule matches and the script is not strict."""
        found = _answer(reply, fields)
        if not isinstance(found, Reply):
            raise ScriptError(
                "the default is a fixed reply", hint="use on(user='/^/', priority=-1).reply(function)"
            )
        self.default = found
        self.version += 1

    def shadowed(self) -> list[Shadowed]:
        """The rules that can never fire, because another one always comes first."""
        return self.rules.shadowed()

    def problems(self) -> list[ScriptProblem]:
        """List the faults of a script that can be used all the same; see `RuleTable.problems`."""
        return self.rules.problems()

    def validate(self) -> None:
        """Refuse a script with rules that can never fire.

        Raises:
            ScriptLoadError: with one problem for each of them.
        """
        self.rules.validate()


def _check_types(when: Any, reply: Any) -> None:
    kinds = (("when", when, When, "a When"), ("reply", reply, Reply, "a Reply, or a function of the request"))
    for name, value, kind, expected in kinds:
        if not isinstance(value, kind) and not (kind is Reply and callable(value)):
            raise WrongTypeError(
                f"`{name}` is of another type",
                expected=expected,
                seen=in_words(value),
                hint="script.on(user=...).reply(...) takes conditions and replies as they are written",
            )


def _without_name(condition: Any) -> ScriptError:
    return ScriptError(
        "a condition has no name",
        expected="what it is about: user=, contains=, system=, tool_result=...",
        seen=f"on({condition!r:.80})",
        hint=f"write on(user={condition!r:.80}) for what the user says",
    )


def _when(conditions: Mapping[str, Any]) -> When:
    known = When.__struct_fields__
    for name, value in conditions.items():
        if name not in known:
            raise ScriptError(
                f"unknown condition {name!r}",
                expected="one of " + ", ".join(known),
                hint=did_you_mean(name, known),
            )
        if value is None:
            raise MatchError(f"{name}: None is no condition", hint="leave the condition out instead")
    return When(**conditions)


def load_script(path: Path | str) -> Script:
    """Read a script file; the same as `Script.load`.

    Raises:
        ScriptLoadError: with every problem of the file, each with its line.
    """
    return Script.load(path)


def load_rules(script: Script, text: str, *, source: str = "script") -> int:
    """Add the rules of a script in YAML or JSON to `script`; return how many.

    Its `agents` are added too, and its `default`, `strict` and `check_signatures` hold from now on, if it has any.

    Args:
        script: gets the rules; a model that uses it takes them up at its next request.
        text: a script of the same form as a file.
        source: how problems call it.

    Raises:
        ScriptLoadError: with every problem; nothing is added then.
    """
    return script._take(parse_text(text, source))  # noqa: SLF001  (one concept in two places)


def script_problems(path: Path | str) -> list[ScriptProblem]:
    """All that is wrong with a script file: what makes it unusable, and what `Script.problems` names."""
    try:
        return Script.load(path).problems()
    except ScriptLoadError as error:
        return list(error.problems)


def script_schema() -> dict[str, Any]:
    """The form of a script file as JSON Schema, draft 2020-12, for editors.

    Example:
        >>> script_schema()["required"]
        ['rules']
    """
    from soundstage.models import _schema

    return _schema.script_schema()
