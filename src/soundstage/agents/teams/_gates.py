"""When a change has to be reviewed, and what reviewers and testers answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Final, Literal, TypeVar

import msgspec

from soundstage.agents.teams._errors import ReplyError
from soundstage.agents.teams._json import shown
from soundstage.match import distinct, objects_in

R = TypeVar("R")

CODE: Final = frozenset(
    {".c", ".cc", ".cpp", ".cs", ".css", ".ex", ".go", ".h", ".html", ".java", ".js", ".jsx", ".kt", ".lua"}
    | {".php", ".pl", ".py", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".ts", ".tsx", ".vue"}
)


class GateRule(msgspec.Struct, frozen=True, kw_only=True):
    """The rule by which a change needs review and tests.

    Args:
        max_files: so many files of code may change without.
        words: in a description or a path; upper and lower case are alike.
        paths: in a path.
        extensions: of files that are code.
    """

    max_files: int = 2
    words: tuple[str, ...] = ("auth", "payment", "security", "credential", "secret", "token")
    paths: tuple[str, ...] = ("route", "endpoint", "controller", "api/")
    extensions: frozenset[str] = CODE

    def reason(self, files: Iterable[str], description: str) -> str:
        """Why a change needs the gates; empty if it does not.

        Example:
            >>> GateRule().reason(["a.py", "b.py", "c.py"], "Rename")
            '3 files of code changed, more than 2'
            >>> GateRule().reason(["README.md"], "Fix a typo")
            ''
        """
        changed = sorted(set(files))
        code = [path for path in changed if PurePosixPath(path).suffix.lower() in self.extensions]
        if len(code) > self.max_files:
            return f"{len(code)} files of code changed, more than {self.max_files}"
        for where, text in (("the description", description), *((path, path) for path in changed)):
            if word := _first(self.words, text):
                return f"{where} mentions {word!r}"
        for path in changed:
            if part := _first(self.paths, path):
                return f"{path} has {part!r} in its path"
        return ""


def _first(words: Iterable[str], text: str) -> str:
    return next((word for word in words if re.search(re.escape(word), text, re.IGNORECASE)), "")


class ReviewIssue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A problem that a reviewer found."""

    message: str
    file: str = ""
    line: int | None = None
    severity: Literal["critical", "major", "minor", "info"] = "major"
    category: Literal["security", "performance", "correctness", "maintenance"] = "correctness"
    suggestion: str = ""

    def __str__(self) -> str:
        where = self.file + (f":{self.line}" if self.line is not None else "")
        fix = f" ({self.suggestion})" if self.suggestion else ""
        return f"{self.severity} {self.category}{f' in {where}' if where else ''}: {self.message}{fix}"


class Review(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer of a reviewer."""

    approved: bool
    files_reviewed: tuple[str, ...] = ()
    issues: tuple[ReviewIssue, ...] = ()
    overall_score: float | None = None
    summary: str = ""


class QaCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A check that a tester ran, and its result."""

    name: str
    passed: bool
    command: str = ""
    output: str = ""


class QaReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer of a tester."""

    passed: bool
    checks: tuple[QaCheck, ...] = ()
    blockers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def parse_review(text: str) -> Review:
    """The review in a reply: the JSON object with `approved`, alone or among prose.

    Raises:
        ReplyError: if there is none, or not of the form.

    Example:
        >>> parse_review('{"approved": false, "issues": [{"message": "no test"}]}').issues[0].message
        'no test'
    """
    return _parsed(text, "approved", Review, '{"approved": true, "issues": [...], "summary": "..."}')


def parse_qa(text: str) -> QaReport:
    """The report in a reply: the JSON object with `passed`, alone or among prose.

    Raises:
        ReplyError: if there is none, or not of the form.
    """
    return _parsed(text, "passed", QaReport, '{"passed": true, "checks": [...], "blockers": []}')


def _parsed(text: str, key: str, form: type[R], expected: str) -> R:
    found: list[dict[str, Any]] = distinct([value for value in objects_in(text) if key in value])
    name = "review" if form is Review else "QA report"
    if len(found) != 1:
        seen = "\n".join(map(shown, found)) or text or "an empty reply"
        raise ReplyError(
            f"the reply has {'no' if not found else f'{len(found)} different'} {name}s",
            raw=text,
            expected=expected,
            seen=seen,
            hint="let the agent answer with one JSON object",
        )
    try:
        return msgspec.convert(found[0], form)
    except msgspec.ValidationError as error:
        raise ReplyError(
            f"the {name} is not of the form: {error}", raw=text, expected=expected, seen=shown(found[0])
        ) from None
