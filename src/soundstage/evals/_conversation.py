"""The turns of a run: they are put to the agent in order, and each can be graded by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from soundstage.evals._agents import EvalAgent, EvalPlace
from soundstage.evals._events import Grade
from soundstage.evals._run import Case, EvalRun, EvalTurn, grade
from soundstage.journal import Journal, Record
from soundstage.runs import build_result


class AnsweredTurn(NamedTuple):
    """A turn that the agent has answered, with the records of the journal that belong to it."""

    turn: EvalTurn
    answer: str
    records: Sequence[Record]


async def converse(case: Case, agent: EvalAgent, place: EvalPlace, answered: list[AnsweredTurn]) -> str:
    """Put the turns of a case to an agent, in one conversation; `answered` grows with each. The last answer."""
    answer = ""
    async with agent.conversation(place) as respond:
        for turn in case.conversation:
            begun = len(place.journal)
            answer = await respond(turn.input)
            answered.append(AnsweredTurn(turn, answer, place.journal.read(begun)))
    return answer


async def grade_turns(run: EvalRun, answered: Sequence[AnsweredTurn], journal: Journal) -> list[Grade]:
    """The grades of evaluators that stand at a turn. A turn that was never answered does not pass."""
    grades = []
    for number, turn in enumerate(run.case.turns, 1):
        found = answered[number - 1] if number <= len(answered) else None
        for one in turn.expect:
            if found is None:
                given = Grade(passed=False, reason="the agent has not answered this turn")
            else:
                given = await grade(one, _run_of(run, found, journal))
            grades.append(msgspec.structs.replace(given, evaluator=f"turn {number}: {one.name}"))
    return grades


def _run_of(run: EvalRun, found: AnsweredTurn, journal: Journal) -> EvalRun:
    """A turn as if it were the whole run: evaluators need not know of turns."""
    result = build_result(found.records, objects=journal.contents)
    case = msgspec.structs.replace(run.case, input=found.turn.input, turns=())
    return msgspec.structs.replace(
        run, case=case, result=msgspec.structs.replace(result, output=found.answer)
    )
