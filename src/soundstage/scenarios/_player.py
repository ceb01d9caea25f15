"""One recorded session as the program meets it again: which line is due, and whether what it sends fits. No I/O.

The frames of a session are in one order. What comes from the CLI is due when all that stands before it has happened: a
result is not given out before the hook was answered that stands before it. What comes from the program is looked for
among what it has not sent yet: an answer by the id of its question, a control request by its subtype, a prompt by its
order. So two hooks that are answered at the same time may be answered in any order, as it was with the CLI.

Ids of control requests are drawn anew by the SDK in each run; the recorded answers get the new ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from soundstage.differences import Difference, unified
from soundstage.errors import ReplayMismatchError
from soundstage.match import preview
from soundstage.scenarios._folder import ScenarioRecording
from soundstage.scenarios._frames import RecordedFrame, hook_type
from soundstage.scenarios._places import RunFolders
from soundstage.scenarios._verdicts import line_differences

_INPUTS: Final = ("send", "answer")


@dataclasses.dataclass(frozen=True)
class ReplayRules:
    """How a recording is replayed.

    Args:
        places: the folders of this run.
        relaxed: whether what the program sends may differ; differences are listed then.
    """

    places: RunFolders
    relaxed: bool = False


class FramePlayer:
    """The state of one session.

    Args:
        recording: where its hooks are.
        number: of the session.
        rules: how strictly it is compared.
    """

    def __init__(self, recording: ScenarioRecording, number: int, rules: ReplayRules) -> None:
        self.number = number
        self.frames: Sequence[RecordedFrame] = tuple(one for one in recording.frames if one.session == number)
        self.differences: list[Difference] = []
        self.on_mismatch: Callable[[ReplayMismatchError], ReplayMismatchError] = lambda error: error
        self._recording = recording
        self._rules = rules
        self._happened: set[int] = set()
        self._ids: dict[str, str] = {}  # recorded id of a control request -> the one of now
        self._hooks: dict[tuple[str, str], str] = {}  # the answer to a hook that was asked -> its file

    def line_of(self, index: int) -> dict[str, Any]:
        """The line of a frame, with the folders and the ids of this run."""
        frame = self.frames[index]
        line: dict[str, Any] = self._rules.places.put_in(self._recording.line_of(frame))
        if frame.kind == "ask":
            self._hooks["control_response", str(line.get("request_id"))] = frame.hook
        answer = line.get("response") if line.get("type") == "control_response" else None
        if isinstance(answer, dict) and answer.get("request_id") in self._ids:
            line["response"] = {**answer, "request_id": self._ids[answer["request_id"]]}
        return line

    def has_happened(self, index: int) -> bool:
        """Whether the program has done what a frame of its side says."""
        return index in self._happened

    def opened(self, line: Mapping[str, Any]) -> None:
        """The program opens the session.

        Raises:
            ReplayMismatchError: if it does with other options.
        """
        index = self._waiting("open")
        if index is None:
            raise self.mismatch(self._extra("a session", "opens it again"))
        self._compare(index, line, "the options")

    def ended(self) -> None:
        """The program ends its input. Whoever ends it where it was cut off then is as good."""
        index = self._waiting("end")
        if index is not None:
            self._happened.add(index)

    def heard(self, line: Mapping[str, Any]) -> int | None:
        """The program sends a line. Returns the frame that it is; nothing for one that a relaxed replay lets pass.

        Raises:
            ReplayMismatchError: if it was not recorded, or differs.
        """
        index = self._frame_of(line)
        if index is None:
            verdict = self._extra(words_of(line), preview(repr(dict(line)), 200))
            if self._rules.relaxed and line.get("type") != "control_request":
                self.differences.append(verdict)
                return None
            raise self.mismatch(verdict)
        hook = self.frames[index].hook
        self._compare(index, line, f"the answer of hooks/{hook}" if hook else words_of(line))
        if line.get("type") == "control_request":
            self._ids[str((self.frames[index].line or {}).get("request_id"))] = str(line.get("request_id"))
        return index

    def _compare(self, index: int, line: Mapping[str, Any], where: str) -> None:
        self._happened.add(index)
        found = line_differences(self.line_of(index), line, f"session {self.number}, {where}")
        self.differences += found
        if found and not self._rules.relaxed:
            raise self.mismatch(*found)

    def _waiting(self, kind: str) -> int | None:
        """The first frame of a kind that has not happened."""
        return next(
            (
                index
                for index, one in enumerate(self.frames)
                if one.kind == kind and index not in self._happened
            ),
            None,
        )

    def _frame_of(self, line: Mapping[str, Any]) -> int | None:
        """The first frame that has not happened and is the same line of the program."""
        wanted = identity_of(line)
        hook = self._hooks.get(wanted, "")
        return next(
            (
                index
                for index, one in enumerate(self.frames)
                if one.kind in _INPUTS
                and index not in self._happened
                and one.hook == hook
                and (hook or identity_of(one.line or {}) == wanted)
            ),
            None,
        )

    def missing(self, before: int | None = None) -> Difference | None:
        """The first line that the program has not sent; of those that stand before a frame, if one is given."""
        for index, frame in enumerate(self.frames[:before]):
            if frame.kind in _INPUTS and index not in self._happened:
                line = self.line_of(index)
                where = f"the answer of hooks/{frame.hook}" if frame.hook else words_of(line)
                return Difference(
                    cause="missing call",
                    where=f"session {self.number}, {where}",
                    recorded=preview(repr(line), 200),
                    seen="not sent",
                )
        return None

    def _extra(self, where: str, seen: str) -> Difference:
        recorded = "no such line, or it was sent already"
        return Difference(
            cause="extra call", where=f"session {self.number}, {where}", recorded=recorded, seen=seen
        )

    def opens_as(self, line: Mapping[str, Any]) -> bool:
        """Whether a session is opened as this one was."""
        index = self._waiting("open")
        return index is not None and not line_differences(self.line_of(index), line, "")

    def mismatch(self, *found: Difference) -> ReplayMismatchError:
        """The error that tells differences; whoever plays the recording is told, too."""
        return self.on_mismatch(mismatch_of(self._recording.name, found))


def mismatch_of(name: str, found: Sequence[Difference]) -> ReplayMismatchError:
    """The error of a replay that is not as its recording."""
    error = ReplayMismatchError(
        f"the replay of {name!r} differs: {found[0].cause}",
        expected="what was recorded",
        seen=unified(found),
        hint=f"soundstage scenario record {name}, if the change is meant; relaxed=True, if it does not matter",
    )
    error.verdicts = tuple(found)  # type: ignore[attr-defined]
    return error


def identity_of(line: Mapping[str, Any]) -> tuple[str, str]:
    """The same for two lines of a program that are the same line: its type, and whom it answers or what it asks for."""
    kind = str(line.get("type"))
    if kind == "control_response":
        response = line.get("response")
        return kind, str(response.get("request_id")) if isinstance(response, Mapping) else ""
    if kind == "control_request":
        request = line.get("request")
        return kind, str(request.get("subtype")) if isinstance(request, Mapping) else ""
    return kind, ""


def words_of(line: Mapping[str, Any]) -> str:
    """A line of a program, or a question of the CLI, in words."""
    kind, of = identity_of(line)
    if kind == "user":
        return "a prompt"
    if kind == "control_request":
        return hook_type(dict(line)) or f"control request {of}"
    return f"the answer to {of}" if kind == "control_response" else kind
