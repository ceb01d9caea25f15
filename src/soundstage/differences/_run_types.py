"""The differences of two runs, as records."""

from __future__ import annotations

import msgspec

from soundstage.differences._types import Cause, Difference


class StepDiff(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step at which two runs differ, or something else that one run has and the other has not.

    Args:
        lane: who asked: the agent, its purpose if that is another than its own steps, which of its conversations.
        step: the number of the step in its lane, from 1; 0 for what is no step.
        a: position in the journal of the one run; 0 if it is not there.
        b: likewise, of the other.
        follows: whether it differs only because an earlier step does.
        found: what differs, the likely cause first; the one run is `recorded`, the other `seen`.
        reply: what differs in the replies, beside that.
    """

    lane: str
    step: int
    a: int = 0
    b: int = 0
    follows: bool = False
    found: tuple[Difference, ...]
    reply: tuple[Difference, ...] = ()

    @property
    def cause(self) -> Cause:
        """Why the step differs."""
        return self.found[0].cause

    @property
    def both(self) -> bool:
        """Whether both runs have the step."""
        return bool(self.a and self.b and self.step)


class RunDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The differences of two runs. As JSON: `msgspec.json.encode(diff)`.

    Args:
        steps: the number of steps of each run.
        alike: the number of steps that do not differ.
        found: where they differ: steps in the order of the runs, then messages, failures and calls of tools.
    """

    steps: tuple[int, int]
    alike: int
    found: tuple[StepDiff, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.found

    @property
    def first(self) -> StepDiff | None:
        """The first divergence: the earliest step that differs by itself."""
        return next((one for one in self.found if not one.follows), next(iter(self.found), None))

    @property
    def followed(self) -> tuple[StepDiff, ...]:
        """The steps that differ only because an earlier one does."""
        return tuple(one for one in self.found if one.follows)

    @property
    def others(self) -> tuple[StepDiff, ...]:
        """The steps that differ by themselves, after the first divergence."""
        return tuple(one for one in self.found if not one.follows and one is not self.first)
