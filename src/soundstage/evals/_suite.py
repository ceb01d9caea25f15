"""A suite: an agent, cases, and what is expected of every run."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from soundstage.errors import ScriptProblem, WrongValueError
from soundstage.evals._agents import EvalAgent
from soundstage.evals._errors import EvalConfigError
from soundstage.evals._made_of import folder_content, made_of, user_code_in
from soundstage.evals._run import Case, NamedEvaluator
from soundstage.live import ProviderLimits
from soundstage.models import Model

TIMEOUT = 300.0
_NOT_IN_NAMES = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of a pair, ends of lines


class EvalBudget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most that a whole eval may take; a kind that is not given has no limit.

    No run is started that would be beyond it, by the largest one so far. Those under way are not ended.

    Args:
        cost: US dollars of all its runs.
        tokens: of all its runs.
        seconds: since it was started, or resumed.

    Raises:
        WrongValueError: for a number that is not above zero.

    Example:
        >>> EvalBudget(cost=2.5).tokens is None
        True
    """

    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise WrongValueError("the budget of an eval is a number above 0", seen=f"{name}={value!r}")


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """Cases, and the agent that gets them.

    Args:
        name: how reports call it.
        agent: who answers; see `CommandAgent`, `FunctionAgent`, `ModelAgent`, `ClaudeCodeAgent`.
        cases: with names of their own.
        model: makes the model that the agent asks, for each run a new one.
        expect: evaluators for the runs of all cases.
        repeat: runs of each case.
        pass_rate: the share of the runs of a case that has to pass.
        timeout: seconds that a run may take.
        workspace: a folder; each run works in a copy.
        limits: how providers may be asked: those of all, or by the name of the provider (`openai`, `anthropic`,
            `gemini`).
        budget: the most that an eval of it may take.
        replayed: the recording that answers in the place of a provider, if one does.
        fingerprint: of the files that it was read from; two suites of one fingerprint are the same.
        notes: what was left out of it when it was read, because it changes no result.

    Raises:
        EvalConfigError: for no cases, two of one name, a case that nothing is expected of, or numbers that cannot be.

    Example:
        ::

            async def agent(prompt: str, place: EvalPlace) -> str: ...

            suite = Suite(
                name="weather",
                agent=FunctionAgent(agent),
                model=lambda: ScriptedModel(script, shared=True),
                cases=[Case(name="paris", input="weather in Paris", expect=(evaluator_of("contains", "sunny"),))],
            )
            report = asyncio.run(run_suite(suite, store=RunStore()))
    """

    name: str
    agent: EvalAgent
    cases: Sequence[Case]
    model: Callable[[], Model]
    expect: Sequence[NamedEvaluator] = ()
    repeat: int = 1
    pass_rate: float = 1.0
    timeout: float = TIMEOUT
    workspace: Path | None = None
    limits: ProviderLimits | Mapping[str, ProviderLimits] = {}
    budget: EvalBudget = EvalBudget()
    replayed: str = ""
    fingerprint: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = [ScriptProblem(self.name, 0, key, message) for key, message in self._problems()]
        if problems:
            raise EvalConfigError(problems)
        if not self.fingerprint:
            msgspec.structs.force_setattr(self, "fingerprint", self._own_fingerprint())

    def _problems(self) -> list[tuple[str, str]]:
        found = _wrong_name("name", self.name)
        if not self.cases:
            found.append(("cases", "expected at least one case, got none"))
        seen: set[str] = set()
        for number, case in enumerate(self.cases):
            key = f"cases[{number}]"
            if not case.name:
                found.append((f"{key}.name", "a case has a name"))
            found += _wrong_name(f"{key}.name", case.name)
            if case.name in seen:
                found.append((f"{key}.name", f"two cases are called {case.name!r}"))
            seen.add(case.name)
            found += [(f"{key}.{place}", message) for place, message in wrong_turns(case)]
            if not (case.expect or self.expect or any(turn.expect for turn in case.turns)):
                found.append((f"{key}.expect", f"nothing is expected of the case {case.name!r}"))
            found += _numbers(key, self.runs_of(case), self.rate_of(case))
        if not self.timeout > 0:
            found.append(("timeout", f"expected seconds above 0, got {self.timeout!r}"))
        return found

    def _own_fingerprint(self) -> str:
        parts = [[case.name, self.fingerprint_of(case)] for case in self.cases]
        found = hashlib.sha256(json.dumps([self.name, parts]).encode())
        for content in self._made_of():
            found.update(hashlib.sha256(content).digest())
        return found.hexdigest()

    def _made_of(self) -> Iterator[bytes]:
        """The content of the files that belong to it, each once."""
        asked = [*self.expect]
        for case in self.cases:
            asked += [*case.expect, *(one for turn in case.turns for one in turn.expect)]
        yield from map(made_of, {id(one): one for one in map(self.agent_of, self.cases)}.values())
        yield from map(user_code_in, {id(one.evaluate): one.evaluate for one in asked}.values())
        yield from map(folder_content, dict.fromkeys(filter(None, map(self.workspace_of, self.cases))))

    def fingerprint_of(self, case: Case) -> str:
        """Of one case: its input, files and what is expected of it. The agent and the model may be others."""
        turns = [[turn.input, *map(_source, turn.expect)] for turn in case.conversation]
        expect = [_source(one) for one in (*self.expect, *case.expect)]
        parts = [turns, case.expected, dict(case.files), expect]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:12]

    def agent_of(self, case: Case) -> EvalAgent:
        """Who answers a case."""
        if case.combination is not None:
            return case.combination.agent
        return case.agent or self.agent

    def model_of(self, case: Case) -> Model:
        """A new model for a run of a case."""
        if case.combination is not None:
            return case.combination.model()
        return (case.model or self.model)()

    def workspace_of(self, case: Case) -> Path | None:
        """The folder of which a run of a case has a copy."""
        return self.workspace if case.combination is None else case.combination.workspace or self.workspace

    def runs_of(self, case: Case) -> int:
        """How often a case is run."""
        return self.repeat if case.repeat is None else case.repeat

    def rate_of(self, case: Case) -> float:
        """The share of the runs of a case that has to pass."""
        return self.pass_rate if case.pass_rate is None else case.pass_rate


def _wrong_name(key: str, name: str) -> list[tuple[str, str]]:
    """A name stands in lines, tables and XML."""
    if any(unicodedata.category(letter) in _NOT_IN_NAMES for letter in name):
        return [(key, f"expected a name of one line, without control characters, got {name!r}")]
    return []


def _source(evaluator: NamedEvaluator) -> str:
    return evaluator.source or evaluator.name


def wrong_turns(case: Case) -> list[tuple[str, str]]:
    """Mistakes in the input and the turns of a case: keys in it, and messages."""
    if bool(case.input) == bool(case.turns):
        both = "an input and turns; expected one of them" if case.turns else "no input"
        return [("turns" if case.turns else "input", f"the case {case.name!r} has {both}")]
    return [
        (f"turns[{number}].input", f"a turn of the case {case.name!r} has no input")
        for number, turn in enumerate(case.turns)
        if not turn.input
    ]


def _numbers(key: str, repeat: int, rate: float) -> list[tuple[str, str]]:
    found = []
    if repeat < 1:
        found.append((f"{key}.repeat", f"expected at least 1 run, got {repeat!r}"))
    if not 0 < rate <= 1:
        found.append((f"{key}.pass_rate", f"expected a share above 0 and at most 1, got {rate!r}"))
    return found
