"""Agents that do in one step what their prompt says, and reporters that keep what they are told."""

from __future__ import annotations

import pytest

from soundstage.journal import FileChanged, MessageSent
from soundstage.runs.result import RunResult, build_result
from soundstage.workflows import WorkflowContext


class Editor:
    """Runs that change the files of a prompt, `a.py b.py`, and say so; `status` is that of their results."""

    def __init__(self, journal, status="complete"):
        self.journal = journal
        self.status = status
        self.calls = []

    async def run(self, prompt, **overrides):
        self.calls.append((prompt, overrides))
        begun = len(self.journal)
        for path in prompt.split():
            self.journal.append(FileChanged(path=path, change="modified"), source="editor")
        self.journal.append(MessageSent(text=f"edited {prompt}", sender="editor"), source="editor")
        found = build_result(self.journal.read(begun))
        return RunResult(
            id=f"run {len(self.calls)}",
            status=self.status,
            reasons=("it could not be done",) if self.status == "failed" else (),
            timeline=found.timeline,
            output=found.output,
        )


class Ears:
    """A reporter that keeps what it is told."""

    def __init__(self):
        self.heard = []

    def report(self, result):
        self.heard.append(result)


@pytest.fixture
def editor(journal):
    return Editor(journal)


@pytest.fixture
def ears():
    return Ears()


@pytest.fixture
def context(journal, editor, ears):
    return WorkflowContext(journal, editor, title="the release", reporters=[ears])
