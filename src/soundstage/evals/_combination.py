"""A suite in every combination of a matrix: one suite, in which each case is there for each combination.

So the engine, the store, `--resume` and the report know of nothing but cases. A dimension has a meaning by its name: it
replaces a part of the suite (`_REPLACED`), or it is a variable, which stands as `{name}` in inputs and commands, or is
an argument of the function that is the agent. One that nothing takes is refused.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.evals._agents import (
    INPUT,
    ClaudeCodeAgent,
    CommandAgent,
    EvalAgent,
    EvalPlace,
    FunctionAgent,
    ModelAgent,
    PromptedAgent,
    Respond,
)
from soundstage.evals._matrix import Matrix, MatrixCell, MatrixValue, matrix_error, open_value
from soundstage.evals._run import Case, Combination, EvalTurn
from soundstage.evals._suite import Suite
from soundstage.models import Model

REPLACED: Final = ("agent", "script", "tape", "live", "workspace", "prompt", "system", "model")
_GIVEN: Final = INPUT.strip("{}")

Live = Callable[[str], Callable[[], Model]]


class _RefusedError(Exception):
    """Raised with the dimension that cannot be used, and why."""


class MadeAgent(msgspec.Struct, frozen=True):
    """An agent with values that are made for each conversation.

    Args:
        values: by dimension.
        agent: makes the agent of them.
    """

    values: Mapping[str, MatrixValue]
    agent: Callable[[Mapping[str, Any]], EvalAgent]

    @asynccontextmanager
    async def conversation(self, place: EvalPlace) -> AsyncIterator[Respond]:
        """Make the values, and begin a conversation of the agent that has them."""
        async with AsyncExitStack() as stack:
            values = {name: await open_value(value, stack) for name, value in self.values.items()}
            agent = self.agent(values)
            yield await stack.enter_async_context(agent.conversation(place))


def combine(suite: Suite, matrix: Matrix, *, live: Live | None = None) -> Suite:
    """A suite whose cases are those of another one, in every combination of a matrix.

    A dimension replaces a part of the suite, by its name:

    - `agent`: an agent
    - `model`: the model of a `ModelAgent` or of Claude Code, by its name, or that which makes the model of a run
    - `prompt`: a text around each input, which is its `{input}`; `system`: the system text of a `ModelAgent`
    - `workspace`: a folder
    - any other, and `model` for other agents: `{name}` in inputs and in commands, or an argument of a `FunctionAgent`

    Args:
        suite: the suite.
        matrix: the dimensions.
        live: makes what makes the model of a run, of the name of a model; if it is not given, the model of the suite
            answers for all names.

    Raises:
        MatrixError: for a dimension that nothing in the suite takes, or a value that it cannot take.

    Example:
        ::

            prompts = [labelled("plain", "{input}"), labelled("short", "{input} In a word!")]
            report = asyncio.run(run_suite(combine(suite, Matrix(prompt=prompts)), store=RunStore()))
            print(cells_of(report), effects_of(report))
    """
    own = [case.name for case in suite.cases if case.agent is not None or case.model is not None]
    if own:
        raise matrix_error(
            [("", f"the case {own[0]!r} has an agent or a model of its own, which no matrix replaces")]
        )
    if _GIVEN in matrix.dimensions:
        raise matrix_error([(_GIVEN, f"{INPUT} is the input of a case; give the dimension another name")])
    used: set[str] = set()
    try:
        cases = [made for cell in matrix.cells for made in _cases(suite, cell, live, used)]
    except _RefusedError as error:
        raise matrix_error([error.args]) from None
    unused = [name for name in matrix.dimensions if name not in used]
    if unused:
        raise matrix_error(
            [
                (name, f"nothing takes it: no {{{name}}} in inputs or commands, and no argument of the agent")
                for name in unused
            ]
        )
    order = {case.name: place for place, case in enumerate(suite.cases)}
    cases.sort(key=lambda case: order[case.base])
    names = "\0".join([suite.fingerprint, *(case.name for case in cases)])
    fingerprint = hashlib.sha256(names.encode()).hexdigest()
    return msgspec.structs.replace(suite, cases=cases, fingerprint=fingerprint)


def _cases(suite: Suite, cell: MatrixCell, live: Live | None, used: set[str]) -> list[Case]:
    """The cases of a suite in one combination."""
    made = {name: value for name, value in cell.values.items() if value.make is not None}
    plain = {name: value.value for name, value in cell.values.items() if value.make is None}
    cases = [_filled_case(case, plain, used) for case in suite.cases]
    parts: dict[str, Any] = {
        "labels": cell.labels,
        "model": _model(suite, plain, live, used),
        "workspace": _workspace(plain, used),
    }
    parts["agent"] = _agent(suite, plain, made, used)  # at last, when it is known what others take
    return [
        msgspec.structs.replace(
            case, name=f"{case.name} [{cell.name}]", combination=Combination(case=case.name, **parts)
        )
        for case in cases
    ]


def _filled_case(case: Case, values: Mapping[str, Any], used: set[str]) -> Case:
    turns = [EvalTurn(input=_filled(turn.input, values, used), expect=turn.expect) for turn in case.turns]
    return msgspec.structs.replace(case, input=_filled(case.input, values, used), turns=tuple(turns))


def _agent(
    suite: Suite, plain: Mapping[str, Any], made: Mapping[str, MatrixValue], used: set[str]
) -> EvalAgent:
    """The agent with the values of a combination; those that are made come with each conversation."""
    if not made:
        return _with_values(suite.agent, plain, used)
    inner = suite.agent.agent if isinstance(suite.agent, PromptedAgent) else suite.agent
    takes = _arguments(inner) if isinstance(inner, FunctionAgent) else ()
    for name in made:
        if name != "agent" and name not in takes:
            raise _RefusedError(
                name, "a value that is made for each run is an agent, or an argument of a FunctionAgent"
            )
    if "agent" not in made:
        _with_values(suite.agent, {**plain, **made}, used)
    elsewhere = frozenset(used)
    used.update(made)
    if "agent" in made:
        used.update(plain)  # the agent that is made says whether it takes them

    def agent(values: Mapping[str, Any]) -> EvalAgent:
        taken = set(elsewhere)
        found = _with_values(suite.agent, {**plain, **values}, taken)
        unused = [name for name in plain if name not in taken]
        if unused:
            raise matrix_error([(name, "the agent that was made does not take it") for name in unused])
        return found

    return MadeAgent(made, agent)


def _with_values(agent: EvalAgent, values: Mapping[str, Any], used: set[str]) -> EvalAgent:
    if "agent" in values:
        found = values["agent"]
        if not hasattr(found, "conversation"):
            raise _RefusedError("agent", f"expected an agent, e.g. FunctionAgent(function), got {found!r}")
        used.add("agent")
        if isinstance(agent, PromptedAgent) and not isinstance(found, PromptedAgent):
            found = PromptedAgent(found, agent.prompt)  # the prompt of the suite is around all inputs
        agent = found
    agent = _in_words(agent, values, used)
    if "prompt" not in values:
        return agent
    if not isinstance(values["prompt"], str) or INPUT not in values["prompt"]:
        raise _RefusedError("prompt", f"expected a text with {INPUT}, got {values['prompt']!r}")
    used.add("prompt")
    inner = agent.agent if isinstance(agent, PromptedAgent) else agent
    return PromptedAgent(inner, _filled(values["prompt"], values, used))


def _in_words(agent: EvalAgent, values: Mapping[str, Any], used: set[str]) -> EvalAgent:
    """The agent with values in its words, its options or its arguments."""
    if isinstance(agent, PromptedAgent):
        prompt = _filled(agent.prompt, values, used)
        return PromptedAgent(_in_words(agent.agent, values, used), prompt)
    if isinstance(agent, CommandAgent):
        words = tuple(_filled(word, values, used) for word in agent.argv)
        return msgspec.structs.replace(agent, argv=words)
    if isinstance(agent, FunctionAgent):
        given = {name: value for name, value in values.items() if name in _arguments(agent)}
        used.update(given)
        return msgspec.structs.replace(agent, given={**agent.given, **given})
    if isinstance(agent, ModelAgent):
        own = {name: values[name] for name in ("model", "system") if isinstance(values.get(name), str)}
        used.update(own)
        if "model" in own:
            own["model"] = own["model"].rpartition("/")[2]
        return msgspec.structs.replace(agent, **own)
    if isinstance(agent, ClaudeCodeAgent):
        options = _filled_in(dict(agent.options), values, used)
        if isinstance(values.get("model"), str):
            used.add("model")
            options["model"] = values["model"]
        return ClaudeCodeAgent(options)
    return agent


def _arguments(agent: FunctionAgent) -> list[str]:
    """The arguments of a function that are neither the input nor the place."""
    parameters = inspect.signature(agent.function).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]


def _model(suite: Suite, values: Mapping[str, Any], live: Live | None, used: set[str]) -> Callable[[], Model]:
    for name in ("script", "tape", "live", "model"):
        if callable(values.get(name)):
            used.add(name)
            made: Callable[[], Model] = values[name]
            return made
    return live(values["model"]) if live and isinstance(values.get("model"), str) else suite.model


def _workspace(values: Mapping[str, Any], used: set[str]) -> Path | None:
    if "workspace" not in values:
        return None
    path = Path(values["workspace"])
    if not path.is_dir():
        raise _RefusedError("workspace", f"there is no folder {path}")
    used.add("workspace")
    return path


def _filled(text: str, values: Mapping[str, Any], used: set[str]) -> str:
    """A text with values in the place of their names in braces."""
    for name, value in values.items():
        if name not in REPLACED[:-1] and f"{{{name}}}" in text:
            used.add(name)
            text = text.replace(f"{{{name}}}", str(value))
    return text


def _filled_in(data: Any, values: Mapping[str, Any], used: set[str]) -> Any:
    """Texts within data; one that is a name in braces and nothing else becomes the value itself."""
    if isinstance(data, str):
        for name, value in values.items():
            if data == f"{{{name}}}":
                used.add(name)
                return value
        return _filled(data, values, used)
    if isinstance(data, Mapping):
        return {key: _filled_in(part, values, used) for key, part in data.items()}
    if isinstance(data, list | tuple):
        return [_filled_in(part, values, used) for part in data]
    return data
