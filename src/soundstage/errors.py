"""Everything Soundstage raises, one tree. The class says whose fault it is, the message what to do.

    SoundstageError
    |-- ScriptError            the script or the test is wrong
    |   |-- ScriptLoadError      a script file was refused (every problem, with file and line)
    |   |-- MatchError           a condition could not be evaluated
    |   |-- WrongValueError      a value cannot be used; also a ValueError
    |   |-- UnknownNameError     a rule names an agent, phase, tool or header that there is not; also a ValueError
    |   |-- WrongTypeError       an argument is of another type; also a TypeError
    |   |-- ToolDefinitionError  a function cannot be a tool; also a ValueError
    |   |-- NoMatchError         no rule answers a request (strict)
    |   |-- ReplayMismatchError  a tape does not fit the request
    |   `-- TapeError            a tape file is missing or broken
    |-- AppError               the app under test is wrong
    |   |-- RequestRejected      it sent a request that a provider would reject
    |   `-- EgressRefused        it tried to reach a host outside of its run; also a ConnectionError
    |-- ModelError             the model failed, by script or for real; apps are expected to handle it
    |   |-- ProviderError        an error answer: status, type, message, headers
    |   `-- ConnectionCut        the answer broke off
    |-- HarnessError           Soundstage is wrong, or was used out of order
    |   |-- InvalidStateError    a call at a moment that does not allow it
    |   |-- DeadlockError        every task waits and nothing can wake one (virtual time)
    |   `-- NetworkForbiddenError  a virtual run tried to open a socket
    |-- EnvironmentProblem     the machine lacks something: a free port, git, the CLI
    |   `-- FileError            a file cannot be written or locked; also an OSError
    |-- ConfigError            a setting is unknown or has the wrong type
    `-- ExpectationError       an expectation about the app did not hold; also an AssertionError
        `-- WaitTimeout          it did not hold in time; also a TimeoutError

Every message has up to three parts: what was expected, what was seen, what to do next.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = [
    "AppError",
    "ConfigError",
    "ConnectionCut",
    "DeadlockError",
    "EgressRefused",
    "EnvironmentProblem",
    "ExpectationError",
    "FileError",
    "HarnessError",
    "InvalidStateError",
    "MatchError",
    "ModelError",
    "NetworkForbiddenError",
    "NoMatchError",
    "ProviderError",
    "ReplayMismatchError",
    "RequestRejected",
    "ScriptError",
    "ScriptLoadError",
    "ScriptProblem",
    "SoundstageError",
    "TapeError",
    "ToolDefinitionError",
    "UnknownNameError",
    "WaitTimeout",
    "WrongTypeError",
    "WrongValueError",
    "did_you_mean",
    "near_names",
]


WHOLE_TRACE: Final = "print(trace.format()) shows the whole trace"


class SoundstageError(Exception):
    """Base of the tree.

    Args:
        summary: one sentence.
        expected: what should have been there, in the words of the caller.
        seen: what was there instead.
        hint: the next step: a call to change or a command to run.
    """

    def __init__(self, summary: str, *, expected: str = "", seen: str = "", hint: str = "") -> None:
        self.summary = summary
        self.expected = expected
        self.seen = seen
        self.hint = hint
        labelled = (("expected", expected), ("seen", seen), ("next step", hint))
        super().__init__("\n".join([summary, *(_labelled(label, text) for label, text in labelled if text)]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross process borders whole, whatever their constructors take."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[SoundstageError], args: tuple[Any, ...], state: dict[str, Any]) -> SoundstageError:
    new: Any = OSError.__new__ if issubclass(kind, OSError) else Exception.__new__
    error: SoundstageError = new(kind)
    error.args = args
    error.__dict__.update(state)
    return error


def _labelled(label: str, text: str) -> str:
    """One part of a message; a part of several lines is indented below its label."""
    if "\n" not in text:
        return f"  {label}: {text}"
    return f"  {label}:\n" + "\n".join(f"    {line}" for line in text.splitlines())


class ScriptError(SoundstageError):
    """Raised when the script or the test is wrong."""


class ScriptProblem(NamedTuple):
    """One thing wrong in a script file; of a `warning` only a person can tell whether it is."""

    file: str
    line: int
    key: str
    message: str
    warning: bool = False

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        where += ": warning" if self.warning else ""
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


class ScriptLoadError(ScriptError):
    """Raised when a script file is refused. `problems` lists all that is wrong, not only the first."""

    def __init__(self, problems: Sequence[ScriptProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(
            f"the script cannot be used: {count}",
            seen="\n".join(str(problem) for problem in self.problems),
            hint="correct the lines above; `soundstage schema` prints every key that a script may have",
        )


class MatchError(ScriptError):
    """Raised when a condition cannot be evaluated: a bad expression, a predicate that raises."""


class UnknownNameError(ScriptError, ValueError):
    """Raised when an agent, a phase, a tool or a header is named that there is not. Also a `ValueError`."""


class WrongValueError(ScriptError, ValueError):
    """Raised when a test gives a value that cannot be used. Also a `ValueError`."""


class ToolDefinitionError(ScriptError, ValueError):
    """Raised when a function cannot be a tool, or two tools have one name. Also a `ValueError`."""


class WrongTypeError(ScriptError, TypeError):
    """Raised when a test gives something of another type than is taken. Also a `TypeError`."""


class NoMatchError(ScriptError):
    """Raised when no rule answers a request and the script is strict."""


class ReplayMismatchError(ScriptError):
    """Raised when a request differs from the recorded one."""


class TapeError(ScriptError):
    """Raised when a tape is missing, or a line of it is not a recorded exchange."""


class AppError(SoundstageError):
    """Raised when the app under test did something that a provider would not accept."""


class RequestRejected(AppError):  # noqa: N818  (it says what happened)
    """Raised when a provider would answer this request with a 4xx status.

    Args:
        message: the provider's words.
        status: HTTP status; 400 unless the provider uses another one.
        kind: the provider's error type, where it differs from the usual one for the status.
        param: the offending field, where the provider names it.
        code: the provider's error code, where it gives one.
    """

    def __init__(
        self, message: str, *, status: int = 400, kind: str = "", param: str = "", code: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code


class EgressRefused(AppError, ConnectionError):  # noqa: N818  (it says what happened)
    """Raised in the app under test when it tries to reach a host outside of its run.

    A connection error, so that the app meets what it would meet without a network.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"this run is closed: it may not reach {host}" + (f":{port}" if port else ""),
            hint="let the app ask the run's own servers, or list the host: hosts=[...] on the mark, "
            "allow_hosts(...) on the builder",
        )
        self.errno = errno.ENETUNREACH


class ModelError(SoundstageError):
    """Raised by a model that fails. Apps are expected to handle it; a script can cause it on purpose."""


class ProviderError(ModelError):
    """Raised when the model answers with an error instead of a reply.

    Args:
        message: the provider's words.
        status: HTTP status, 400 to 599.
        kind: the provider's error type, e.g. `overloaded_error`; empty for the usual one of the status.
        headers: response headers, e.g. `{"retry-after": "1"}`.
        code: the provider's error code, where it gives one.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        kind: str = "",
        headers: Mapping[str, str] | None = None,
        code: str = "",
    ) -> None:
        super().__init__(f"the model answered with status {status}: {message}")
        self.message = message
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})
        self.code = code


class ConnectionCut(ModelError):  # noqa: N818  (it says what happened)
    """Raised when the answer breaks off: the connection closes before the model has finished."""


class HarnessError(SoundstageError):
    """Raised when Soundstage itself is wrong, or was used out of order."""


class InvalidStateError(HarnessError):
    """Raised when a call comes at a moment that does not allow it."""


class DeadlockError(HarnessError):
    """Raised on virtual time when every task waits and nothing can ever wake one."""


class NetworkForbiddenError(HarnessError):
    """Raised when a run on virtual time tries to open a socket or start a process."""


class EnvironmentProblem(SoundstageError):  # noqa: N818  (it says what happened)
    """Raised when the machine lacks something: a free port, git, a CLI."""


class FileError(EnvironmentProblem, OSError):
    """Raised when a file cannot be written or locked. Also an `OSError`."""


class ConfigError(SoundstageError):
    """Raised when a setting is unknown or has the wrong type."""


class ExpectationError(SoundstageError, AssertionError):
    """Raised when an expectation about the app under test does not hold.

    Args:
        summary: one sentence.
        expected: what should have been there.
        seen: what was there instead.
        hint: the next step.
        around: lines of the trace around `at`; a report that shows the whole trace leaves them out.
        at: position in the journal of the first event that is not as expected, if there is one.
    """

    def __init__(
        self,
        summary: str,
        *,
        expected: str = "",
        seen: str = "",
        hint: str = "",
        around: str = "",
        at: int | None = None,
    ) -> None:
        super().__init__(summary, expected=expected, seen="\n".join(filter(None, (seen, around))), hint=hint)
        self.around = around
        self.at = at
        self._seen_alone = seen

    def leave_around_out(self) -> None:
        """Show the trace around no more: the whole trace stands beside this error."""
        hint = self.hint
        if self.around and hint == WHOLE_TRACE:
            hint = "look at the trace below" + ("" if self.at is None else ", at the line marked with >")
        super().__init__(self.summary, expected=self.expected, seen=self._seen_alone, hint=hint)
        self.around = ""


class WaitTimeout(ExpectationError, TimeoutError):  # noqa: N818  (it says what happened)
    """Raised when an expectation does not come true in time."""


def near_names(word: object, known: Iterable[str], *, most: int = 3, cutoff: float = 0.6) -> list[str]:
    """The known names most like a misspelt one, best first, whatever their case.

    >>> near_names("usr", ["user", "system"]), near_names(3, ["user"])
    (['user'], [])
    """
    from difflib import get_close_matches  # for mistakes only

    by_folded = {name.casefold(): name for name in known}
    text = word.casefold() if isinstance(word, str) else ""
    return [by_folded[name] for name in get_close_matches(text, by_folded, n=most, cutoff=cutoff)]


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A question for a message, `did you mean 'user'?`; empty if no known name is like the word."""
    return "".join(f"did you mean {name!r}?" for name in near_names(word, known, most=1))
