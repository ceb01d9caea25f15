"""Facts about plans."""

from __future__ import annotations

from typing import Literal

from soundstage.journal import Event


class PlanMade(Event, frozen=True, kw_only=True):
    """An orchestrator made a plan. `tasks` are its tasks in words, with what each one needs."""

    text: str
    tasks: tuple[str, ...] = ()
    conversation: str = ""


class PlanDecided(Event, frozen=True, kw_only=True):
    """Somebody decided on a plan that was waiting, or changed a task of it."""

    decision: Literal["approved", "rejected", "edited", "dropped"]
    detail: str = ""
    conversation: str = ""


class TaskSkipped(Event, frozen=True, kw_only=True):
    """A task of a plan was not begun. `task` is its index, from 0."""

    task: int
    agent: str
    reason: str
    conversation: str = ""


class GateJudged(Event, frozen=True, kw_only=True):
    """A quality gate gave its verdict; `passed` says which. `gate` is the agent that keeps it."""

    gate: str
    passed: bool
    detail: str = ""
    conversation: str = ""
