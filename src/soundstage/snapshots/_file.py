"""Snapshots: a text in a file that people review, and a check that it has not changed.

A file is written only when that is asked for, whole or not at all, so that tests in several processes do not
disturb each other. It holds the text and one line feed more: editors want files to end with one, and the text
comes back as it was.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Final, Literal

from soundstage.errors import EnvironmentProblem, ExpectationError, ScriptError
from soundstage.journal import Redactor
from soundstage.snapshots._text import Replacements, Shown, snapshot_text
from soundstage.trace import checking_now

SnapshotState = Literal["same", "created", "updated"]
LINES: Final = 120  # of a difference
UPDATE: Final = "assert_snapshot(..., update=True)"


def assert_snapshot(
    path: Path | str,
    shown: Shown,
    *,
    update: bool = False,
    replace: Replacements | None = None,
    how: str = UPDATE,
) -> SnapshotState:
    """Assert that a text is the one in the file.

    Args:
        path: the snapshot's file.
        shown: a text, a request, a message or messages; see `snapshot_text` for how they look.
        update: write what there is now. Without it nothing is ever written.
        replace: what changes from run to run -> what to write instead.
        how: what a person does to update the snapshot, for messages.

    Returns:
        What was done: `same` (nothing), `created` or `updated`.

    Raises:
        ExpectationError: if there is no such snapshot, or the text has changed.
        ScriptError: if a secret would be written, or what is shown has no text.
        EnvironmentProblem: if the file cannot be read or written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "greeting.txt"
        >>> assert_snapshot(path, "Hello", update=True), assert_snapshot(path, "Hello")
        ('created', 'same')
    """
    __tracebackhide__ = True
    path = Path(path)
    text = _storable(snapshot_text(shown, replace=replace))
    stored = _read(path, text)
    if stored == text:
        return "same"
    if update:
        _write(path, text)
        return "created" if stored is None else "updated"
    if stored is None:
        raise ExpectationError(
            f"there is no snapshot {path.name} yet",
            expected=f"a file {path}",
            seen=f"a text of {len(text.splitlines())} line(s), {len(text)} characters",
            hint=f"look at the text, then create the snapshot: {how}",
        )
    raise ExpectationError(
        f"the snapshot {path.name} has changed, first in line {_first(stored, text)}",
        expected=f"the text in {path}",
        seen=Redactor.from_environment(os.environ).text(difference(stored, text)),
        hint=f"if the change is meant, update the snapshot and review it: {how}",
    )


check_snapshot = checking_now(assert_snapshot)


def difference(stored: str, text: str) -> str:
    """A unified diff of two texts, control characters escaped, cut when it is very long."""
    lines = list(
        unified_diff(
            [_visible(line) for line in stored.split("\n")],
            [_visible(line) for line in text.split("\n")],
            "snapshot",
            "now",
            lineterm="",
        )
    )
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"... {len(lines) - LINES} more lines"]
    return "\n".join(lines)


def _first(stored: str, text: str) -> int:
    """The number of the first line that differs."""
    pairs = zip(stored.split("\n"), text.split("\n"), strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), None)
    return (min(stored.count("\n"), text.count("\n")) + 1 if same is None else same) + 1


def _visible(line: str) -> str:
    return "".join(
        letter if letter.isprintable() or letter == "\t" else ascii(letter)[1:-1] for letter in line
    )


def _storable(text: str) -> str:
    """The text as a file can hold it: half a surrogate pair is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _read(path: Path, text: str) -> str | None:
    """The content of the file, without its last line feed; None if there is no file."""
    try:
        stored = path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentProblem(
            f"the snapshot {path} cannot be read", seen=f"{type(error).__name__}: {error}"
        ) from error
    if "\r" not in text:
        stored = stored.replace("\r\n", "\n")  # a checkout may have changed the ends of lines
    return stored.removesuffix("\n")


def _write(path: Path, text: str) -> None:
    if Redactor.from_environment(os.environ).text(text) != text:
        raise ScriptError(
            f"the snapshot {path.name} would hold a secret",
            seen="a key, or the value of an environment variable that is named like one",
            hint='write something else in its place: replace={key: "<key>"}',
        )
    with _writing(path) as part:
        part.write_bytes(f"{text}\n".encode())


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when it is complete."""
    part = path.with_name(f".snapshot-{os.getpid()}-{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        raise EnvironmentProblem(
            f"the snapshot {path} cannot be written", seen=f"{type(error).__name__}: {error}"
        ) from error
    finally:
        part.unlink(missing_ok=True)
