"""A change of a file as an event: its content kept, its patch made. Pure but for the keeping."""

from __future__ import annotations

from itertools import takewhile
from operator import eq
from typing import Final

from soundstage.journal._contents import Contents
from soundstage.journal._words import readable
from soundstage.journal._work import FileChanged

LARGEST: Final = 1024 * 1024  # bytes of a file whose content is kept
_MOST: Final = 4_000_000  # pairs of lines that are compared; more are told as one replacement
_NO_END: Final = "\\ No newline at end of file\n"

FileContent = bytes | str | None
"""A file at a moment: its content; or the sha256 alone, empty if it could not be read; `None` if it is not there."""


def file_changed(
    contents: Contents, path: str, before: FileContent, after: FileContent
) -> FileChanged | None:
    """The event of a change, or `None` if there is none. Content of at most 1 MiB is kept in `contents`.

    Args:
        contents: of the journal that the event goes to.
        path: below the workspace.
        before: the file as it was.
        after: the file as it is.

    Raises:
        FileError: if the content cannot be kept.
    """
    if before == after:
        return None
    name = readable(path)
    kept = [_kept(contents, content) for content in (before, after)]
    return FileChanged(
        path=name,
        change="added" if before is None else "deleted" if after is None else "modified",
        before=kept[0],
        after=kept[1],
        patch=_patch_of(contents, name, (before, after), kept),
    )


def _kept(contents: Contents, content: FileContent) -> str | None:
    return contents.keep(content) if isinstance(content, bytes) else content or None


def _patch_of(
    contents: Contents, name: str, pair: tuple[FileContent, FileContent], kept: list[str | None]
) -> str:
    """Of the content as it is kept, which is without secrets."""
    if any(isinstance(content, str) for content in pair):
        return ""
    texts = [contents.read(sha256) if sha256 is not None else None for sha256 in kept]
    return patch(name, *texts)


def patch(path: str, before: bytes | None, after: bytes | None) -> str:
    """The unified diff of two states of a file; empty if one of them is not UTF-8 or holds a NUL.

    Args:
        path: its name in the head.
        before: the content; `None` for no file.
        after: the same.

    Example:
        >>> print(patch("a.txt", b"one\\n", b"two\\n"), end="")
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -one
        +two
    """
    try:
        old, new = ((data or b"").decode() for data in (before, after))
    except UnicodeDecodeError:
        return ""
    if "\0" in old or "\0" in new or old == new:
        return ""
    from difflib import unified_diff  # most runs change no file

    left, right = (_lines(text) for text in (old, new))
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    lines = unified_diff(left, right, *names) if _comparable(left, right) else _replaced(left, right, names)
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)


def _lines(text: str) -> list[str]:
    """With their ends; a line ends at a line feed alone, as for git."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _comparable(left: list[str], right: list[str]) -> bool:
    """Whether the part that differs is small enough to be compared line by line."""
    shortest = min(len(left), len(right))
    same = sum(1 for _ in takewhile(bool, map(eq, left, right)))
    same_end = sum(1 for _ in takewhile(bool, map(eq, reversed(left[same:]), reversed(right[same:]))))
    rest = min(same + same_end, shortest)
    return (len(left) - rest) * (len(right) - rest) <= _MOST


def _replaced(left: list[str], right: list[str], names: tuple[str, str]) -> list[str]:
    head = [f"--- {names[0]}\n", f"+++ {names[1]}\n", f"@@ -1,{len(left)} +1,{len(right)} @@\n"]
    return [*head, *(f"-{line}" for line in left), *(f"+{line}" for line in right)]
