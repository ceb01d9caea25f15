"""Several conversations at once: users side by side, and threads that keep what they were told to themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from soundstage.agents.scenarios._leak import assert_no_leak
from soundstage.agents.scenarios._scenario import TeamScenario, TeamUnderTest
from soundstage.agents.scenarios._team import introduce, route, team
from soundstage.errors import ScriptError
from soundstage.models import Script
from soundstage.trace import Trace, assert_agent_sequence, assert_phase_transitions, assert_text

WORK = ("plan", "execute", "verification", "chores", "reflection")


def concurrency_workflow(
    *, users: Sequence[str] = ("ann", "ben", "eve"), phases: Sequence[str] = WORK, delay: float = 1.0
) -> TeamScenario:
    """Conversations of several users interleave, and none knows anything of another.

    Args:
        users: a word for each, in which no other is contained.
        phases: what each conversation goes through, with one turn of the executor in each.
        delay: seconds of each reply of the executor, so that the conversations interleave.

    Raises:
        ScriptError: if a user's word is contained in another one's.
    """
    words = _apart(users)
    agents = team()

    def write(script: Script) -> None:
        introduce(script, *agents)
        for user in words:
            for number, phase in enumerate(phases, 1):
                script.on(agent="orchestrator", contains=user, iteration=number).reply(
                    route("executor", phase=phase)
                )
                script.on(agent="executor", contains=user, iteration=number).reply(
                    f"{phase} for {user} is done", delay=delay
                )
            script.on(agent="orchestrator", contains=user, iteration=len(phases) + 1).reply(route("END"))

    def check(traces: Sequence[Trace]) -> None:
        for user, trace in zip(words, traces, strict=True):
            assert_agent_sequence(trace, *["orchestrator", "executor"] * len(phases), "orchestrator")
            assert_phase_transitions(trace, *phases)
            assert_text(trace, f"{phases[-1]} for {user} is done", agent="executor")
        assert_no_leak(traces, words)

    return TeamScenario(
        name="concurrency-workflow",
        about="Conversations of several users interleave, and none knows anything of another.",
        agents=agents,
        write=write,
        messages=tuple(f"This is {user}. Build my page." for user in words),
        check=check,
    )


def threading_workflow(
    *, secrets: Sequence[str] = ("YELLOW", "BROWN", "VIOLET"), delay: float = 1.0
) -> TeamScenario:
    """Each thread is told a word and asked for it later; no word reaches another thread.

    Args:
        secrets: a word for each thread, in which no other is contained.
        delay: seconds of each reply of the executor, so that the threads interleave.

    Raises:
        ScriptError: if a word is contained in another one.
    """
    words = _apart(secrets)
    agents = team()

    def write(script: Script) -> None:
        introduce(script, *agents)
        script.on(agent="orchestrator").reply(route("executor", "END", phase="chat"))
        for word in words:
            script.on(agent="executor", contains=word, iteration=1).reply("I keep it in mind.", delay=delay)
            script.on(agent="executor", contains={"all": [word, "Which"]}, iteration=2).reply(
                f"It was {word}.", delay=delay
            )

    async def drive(stage: TeamUnderTest) -> Sequence[Trace]:
        threads = [stage.create(f"My colour is {word}.") for word in words]
        for message in ("", "Which colour did I tell you?"):
            async with asyncio.TaskGroup() as group:
                for thread in threads:
                    group.create_task(stage.router.run(thread, message))
        return [stage.trace.only(conversation=thread) for thread in threads]

    def check(traces: Sequence[Trace]) -> None:
        for word, trace in zip(words, traces, strict=True):
            assert_agent_sequence(trace, *["orchestrator", "executor"] * 2)
            assert_text(trace, f"It was {word}.", agent="executor")
        assert_no_leak(traces, words)

    return TeamScenario(
        name="threading-workflow",
        about="Each thread is told a word and asked for it later; no word reaches another thread.",
        agents=agents,
        write=write,
        messages=tuple(f"My colour is {word}." for word in words),
        check=check,
        drive=drive,
    )


def _apart(words: Sequence[str]) -> tuple[str, ...]:
    folded = [word.casefold() for word in words]
    for word in folded:
        if not word or sum(word in other for other in folded) != 1:
            raise ScriptError(
                "these words cannot be told apart",
                expected="words none of which is part of another",
                seen=", ".join(words) or "none",
            )
    if not words:
        raise ScriptError("there is no conversation without a word", seen="none")
    return tuple(words)
