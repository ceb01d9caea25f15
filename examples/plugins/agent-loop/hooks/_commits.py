"""Finds the commits in a shell command, and what each of them would say. Pure.

It understands what agents write: several commands in a line, `git -C folder`, options before and after, variables in
front, `sh -c`, messages in here-documents. It does not run the shell: an alias, or a command that is put together
from variables, goes unseen. That is enough for a reminder to a willing agent; against an unwilling one use git's
own hooks on the server.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

SEPARATORS = ";&|()\n"
PREFIXES = frozenset(
    ["sudo", "command", "env", "time", "nohup", "exec", "then", "do", "else", "{", "!", "eval"]
)
SHELLS = frozenset(["sh", "bash", "dash", "zsh"])
GIT_VALUES = frozenset(["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"])
COMMIT_VALUES = frozenset(
    ["--author", "--date", "--cleanup", "--trailer", "--pathspec-from-file", "-t", "--template"]
)
REUSES = ("--no-edit", "--reuse-message", "--reedit-message", "--fixup", "--squash")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_CAT = re.compile(r"\$\(\s*cat\s*<<-?\s*(['\"]?)(\w+)\1[ \t]*\n(.*?)\n?[ \t]*\2\s*\)", re.DOTALL)
_HERE = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)\n?[ \t]*\2[ \t]*(?=[\n)]|\Z)", re.DOTALL)
_INNER = re.compile(r"\$\((.*)\)|`(.*)`", re.DOTALL)
_MARK = re.compile(r"\x00(\d+)\x00")
# quotes and escapes, which stay, or a comment, which goes
_COMMENT = re.compile(r"""('[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<=[^\s;&|()])#)|#[^\n]*""", re.DOTALL)
NOT_MADE = frozenset(["--dry-run", "--short", "--porcelain", "--long", "-h", "--help"])
_ROUGH = re.compile(r"\bgit\b[^\n;&|]*\bcommit\b")


class Commit(NamedTuple):
    """A commit that a command would make.

    `message` is `None` if the command does not say it, and `file` names where it is if it is in a file. `reuses` is
    true if an earlier message is taken, `everything` if all that is changed goes in, and `folder` is that of `-C`.
    """

    message: str | None = None
    file: str | None = None
    reuses: bool = False
    everything: bool = False
    folder: str = ""
    paths: tuple[str, ...] = ()


class Add(NamedTuple):
    """The paths that a command stages before it commits; everything if there are no paths."""

    paths: tuple[str, ...]


def commits(command: str) -> list[Commit]:
    """Every commit in a command, in order."""
    return [step for step in steps(command) if isinstance(step, Commit)]


def steps(command: str) -> list[Commit | Add]:
    """Every `git add` and `git commit` in a command, in order."""
    texts: list[str] = []

    def mark(text: str) -> str:
        texts.append(text)
        return f"\x00{len(texts) - 1}\x00"

    command = command.replace("\\\n", " ").replace("\x00", "")
    command = _CAT.sub(lambda found: mark(found[3]), command)
    command = _HERE.sub(lambda found: f"<<{mark(found[4])} {found[3]}\n", command)
    return list(_steps(_COMMENT.sub(lambda found: found[1] or "", command), texts))


def _steps(command: str, texts: list[str]) -> Iterator[Commit | Add]:
    try:
        simple = list(_simple_commands(command))
    except ValueError:  # quotes that do not close
        if _ROUGH.search(command):
            yield Commit()
        return
    for words in simple:
        for word in words:
            for inner in _INNER.findall(word):
                yield from _steps("".join(inner), texts)
        yield from _of_words(words, texts)


def _simple_commands(command: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=SEPARATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in lexer:
        if word and not word.strip(SEPARATORS):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _of_words(words: list[str], texts: list[str]) -> Iterator[Commit | Add]:
    while words and (words[0] in PREFIXES or _ASSIGNMENT.fullmatch(words[0])):
        words = words[1:]
    if not words:
        return
    program = words[0].rpartition("/")[2]
    if program in SHELLS and "-c" in words[:-1]:
        yield from _steps(words[words.index("-c") + 1], texts)
    elif program == "git":
        yield from _of_git(words[1:], texts)


def _of_git(words: list[str], texts: list[str]) -> Iterator[Commit | Add]:
    folder = ""
    while words and words[0].startswith("-"):
        if words[0] == "-C" and len(words) > 1:
            folder = words[1]
        words = words[2:] if words[0] in GIT_VALUES else words[1:]
    if words[:1] == ["commit"] and not NOT_MADE.intersection(name for name, _ in _written_out(words[1:])):
        yield _commit(_written_out(words[1:]), folder, texts)
    elif words[:1] in (["add"], ["stage"]):
        given = [word for word in words[1:] if not word.startswith("-")]
        yield Add(() if "." in given or any(word in ("-A", "--all") for word in words) else tuple(given))


def _written_out(words: list[str]) -> list[tuple[str, str]]:
    """The options of a commit, each with its value; paths as the values of an empty option."""
    found: list[tuple[str, str]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            found += [("", path) for path in rest]
            break
        if word.startswith("<<"):
            found.append(("<<", word[2:] or (rest.pop(0) if rest else "")))
        elif word.startswith("--"):
            name, given, value = word.partition("=")
            takes = name in ("--message", "--file", "--reuse-message", "--reedit-message", *COMMIT_VALUES)
            found.append((name, rest.pop(0) if takes and not given and rest else value))
        elif word.startswith("-") and len(word) > 1:
            found += _short(word[1:], rest)
        else:
            found.append(("", word))
    return found


def _short(letters: str, rest: list[str]) -> Iterator[tuple[str, str]]:
    """A cluster such as `-am`: the last letter may take the rest of the word, or the next word."""
    for number, letter in enumerate(letters):
        if letter in "mFCct":
            tail = letters[number + 1 :]
            yield f"-{letter}", tail or (rest.pop(0) if rest else "")
            return
        yield f"-{letter}", ""


def _commit(options: list[tuple[str, str]], folder: str, texts: list[str]) -> Commit:
    names = {name for name, _ in options}
    paragraphs = [value for name, value in options if name in ("-m", "--message")]
    message: str | None = "\n\n".join(paragraphs) if paragraphs else None
    file = next((value for name, value in options if name in ("-F", "--file")), None)
    if file in ("-", "/dev/stdin"):
        message, file = next((value for name, value in options if name == "<<"), None), None
    return Commit(
        message=_MARK.sub(lambda found: texts[int(found[1])], message) if message is not None else None,
        file=file,
        reuses=bool(names.intersection(REUSES) or names.intersection(("-C", "-c"))),
        everything=bool(names.intersection(("-a", "--all"))),
        folder=folder,
        paths=tuple(value for name, value in options if not name),
    )
