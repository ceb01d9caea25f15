"""Whether an agent took an error well: it says that something is wrong, does not just crash, and knows a way on.

The words are data. A crash marker counts where programs print it, at the beginning of a line, perhaps behind the
name of an exception: `Error: ...`, `ValueError: ...`. So an agent may say "there was an error" and even "the error:
a missing file" without having crashed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from soundstage.claude_code.semantics._verdict import SemanticResult
from soundstage.errors import ScriptError

CRASHES: Final = ("traceback", "exception:", "error:", "failed:")
ACKNOWLEDGEMENTS: Final = ("couldn't", "unable", "can't", "error", "problem", "issue")
RECOVERIES: Final = ("let's", "try", "instead", "alternatively", "check", "verify")
ANY: Final = "any"

ERROR_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    ANY: (),
    "command_not_found": ("command", "program", "tool", "install", "path"),
    "dependency_missing": ("dependency", "package", "module", "install", "import"),
    "file_not_found": ("file", "folder", "directory", "path", "exist", "find"),
    "git_error": ("git", "repository", "commit", "branch", "merge"),
    "invalid_input": ("input", "argument", "value", "invalid", "expected", "format"),
    "merge_conflict": ("conflict", "merge", "both"),
    "network_error": ("network", "connection", "connect", "reach", "offline", "host"),
    "permission_denied": ("permission", "access", "allowed", "denied", "rights"),
    "syntax_error": ("syntax", "parse", "line", "bracket", "indent"),
    "test_failure": ("test", "assert", "fail", "expected"),
    "timeout": ("timeout", "timed out", "too long", "slow", "time"),
}
"""Words of which an answer should mention at least one, by the kind of error; none for `any`."""


class ErrorHandling(SemanticResult, frozen=True, kw_only=True):
    """How an agent took an error.

    Args:
        graceful: it acknowledges the error, and shows no crash.
        recovery_suggested: it names a way on.
        error_acknowledged: it says that something is wrong.
        type_named: it mentions what this kind of error is about.
        crashes: the crash markers in it.
    """

    graceful: bool
    recovery_suggested: bool
    error_acknowledged: bool
    type_named: bool
    crashes: tuple[str, ...]


def error_handled(response: str, error_type: str = ANY) -> ErrorHandling:
    """Look at an answer to an error. It passes if it is graceful, names a way on, and what the error is about.

    Args:
        response: what the agent has said.
        error_type: one of `ERROR_TYPES`.

    Raises:
        ScriptError: for an unknown kind of error.

    Example:
        >>> bool(error_handled("I couldn't find that file. Let's check the folder.", "file_not_found"))
        True
    """
    if error_type not in ERROR_TYPES:
        raise ScriptError(
            "unknown kind of error", expected="one of " + ", ".join(ERROR_TYPES), seen=repr(error_type)
        )
    said = response.casefold().replace("\u2019", "'")
    crashes = tuple(marker for marker in CRASHES if _crash(marker).search(said))
    acknowledged = _says(said, ACKNOWLEDGEMENTS)
    recovery = _says(said, RECOVERIES)
    expected = ERROR_TYPES[error_type]
    named = not expected or any(word in said for word in expected)
    graceful = acknowledged and not crashes
    lacking = {
        "shows a crash: " + ", ".join(crashes): not crashes,
        "does not say that something is wrong": acknowledged,
        "names no way on": recovery,
        f"mentions nothing of {error_type}: {', '.join(expected)}": named,
    }
    return ErrorHandling(
        passed=graceful and recovery and named,
        details="; ".join(text for text, there in lacking.items() if not there) or "handled gracefully",
        graceful=graceful,
        recovery_suggested=recovery,
        error_acknowledged=acknowledged,
        type_named=named,
        crashes=crashes,
    )


def _crash(marker: str) -> re.Pattern[str]:
    if marker.endswith(":"):
        return re.compile(rf"^\W*(?:[a-z_][\w.]*)?{re.escape(marker)}", re.MULTILINE)
    return re.compile(rf"^\W*{re.escape(marker)}\b", re.MULTILINE)


def _says(said: str, words: Iterable[str]) -> bool:
    """Whether one of the words is there as a word, or as its beginning: `tries` is no `try`, `issues` an `issue`."""
    return any(re.search(rf"(?<!\w){re.escape(word)}(?:s|ed|ing)?(?!\w)", said) for word in words)
