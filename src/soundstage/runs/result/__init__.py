"""The result of a run: status, files, tool calls, timeline, tokens and cost, as a view of its journal."""

from soundstage.runs.result._build import build_result
from soundstage.runs.result._closing import closed_result
from soundstage.runs.result._types import FileEntry, RunResult

__all__ = ["FileEntry", "RunResult", "build_result", "closed_result"]
