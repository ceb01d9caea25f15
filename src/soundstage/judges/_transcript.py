"""The transcript of a run as a judge reads it, and whether a quote stands in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.runs.result import RunResult
from soundstage.trace import Trace, build_trace

PURPOSE: Final = "judge"  # of the requests of judges, which are no part of what is judged
_NO_MARKS: Final = re.compile(r'["<>\n]')  # names of tools and files are not ours
_CLOSING: Final = re.compile(r"</(?=part|transcript)")


class TranscriptPart(NamedTuple):
    """A piece of a transcript: the words `text`, and `kind` says whose they are: `user`, `tool result of look_up`..."""

    kind: str
    text: str


class JudgedTranscript(msgspec.Struct, frozen=True):
    """All that a judge may quote.

    Args:
        parts: in order.
    """

    parts: tuple[TranscriptPart, ...]

    @property
    def text(self) -> str:
        """The transcript as the judge reads it: each part in a tag, which the words of a part cannot close."""
        return "\n".join(
            f'<part kind="{_NO_MARKS.sub("", part.kind)}">\n{_kept_inside(part.text)}\n</part>'
            for part in self.parts
        )

    @property
    def length(self) -> int:
        """Characters of all parts."""
        return sum(len(part.text) for part in self.parts)

    def has(self, quote: str) -> bool:
        """Whether these words stand in one of the parts; white space counts as one blank.

        Example:
            >>> JudgedTranscript((TranscriptPart("answer", "It is\\n  sunny."),)).has("It is sunny")
            True
        """
        wanted = _blank(quote)
        if not re.search(r"\w", wanted):  # punctuation stands everywhere
            return False
        return any(
            wanted in _blank(text) for part in self.parts for text in (part.text, _kept_inside(part.text))
        )

    def attached(self, attachments: Mapping[str, str]) -> JudgedTranscript:
        """This transcript and further texts, by name."""
        return JudgedTranscript(
            (*self.parts, *(TranscriptPart(f"attachment {name}", text) for name, text in attachments.items()))
        )


def transcript_of(run: RunResult | Trace | JudgedTranscript | str) -> JudgedTranscript:
    """The transcript of a run: what was asked, what the agents said, their tool calls with results, files, the answer.

    Requests of judges are left out.

    Args:
        run: its result, its trace, or a text that is the whole transcript.

    Example:
        >>> transcript_of("It is sunny.").parts[0].kind
        'transcript'
    """
    if isinstance(run, JudgedTranscript):
        return run
    if isinstance(run, str):
        return JudgedTranscript((TranscriptPart("transcript", run),))
    trace = build_trace(run.timeline) if isinstance(run, RunResult) else run
    parts = [part for _, part in sorted(_placed(trace), key=lambda one: one[0])]
    if isinstance(run, RunResult):
        parts += [
            TranscriptPart(f"file {one.path} ({one.change})", one.patch) for one in run.files if one.patch
        ]
        parts.append(TranscriptPart("answer", run.output))
    else:
        parts += [TranscriptPart(f"file {one.path}", one.patch) for one in trace.files if one.patch]
    return JudgedTranscript(tuple(_without_repeats(parts)))


def _placed(trace: Trace) -> Iterator[tuple[int, TranscriptPart]]:
    """The parts of a trace with their positions in the journal."""
    for line in trace.messages:
        yield line.position, TranscriptPart("user" if line.direction == "in" else "agent", line.text)
    for step in trace.main_steps:
        yield step.position, TranscriptPart("user", step.request.last_user_text or "")
        yield step.answered_at or step.position, TranscriptPart(f"agent {step.agent}", step.text)
    for use in (*trace.tools, *trace.orphans):
        arguments = use.raw or msgspec.json.encode(use.arguments).decode()
        yield use.asked_at, TranscriptPart(f"tool call of {use.agent}", f"{use.name} {arguments}")
        if use.result is not None:
            kind = f"{'error' if use.is_error else 'result'} of {use.name}"
            yield use.returned_at or use.asked_at, TranscriptPart(kind, use.result)
    for failure in trace.failures:
        yield failure.position, TranscriptPart(f"failure of {failure.what}", failure.message)


def _without_repeats(parts: list[TranscriptPart]) -> Iterator[TranscriptPart]:
    """Parts with words, and each user's message once: every request of a turn brings it again."""
    last: dict[Any, str] = {}
    for part in parts:
        side = part.kind == "user" or "agent"
        if part.kind in ("user", "agent") or part.kind.startswith("agent "):
            if last.get(side) == part.text:
                continue
            last[side] = part.text
        if part.text.strip():
            yield part


def _kept_inside(text: str) -> str:
    return _CLOSING.sub("</ ", text)


def _blank(text: str) -> str:
    return " ".join(text.split())
