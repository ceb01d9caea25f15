r"""The words of a command's arguments, as Claude Code tells them apart. Pure.

The CLI reads the arguments as a shell command, and takes the words of the first one: `a; b` has one word, and `it's
what's left` has two. Measured with 2.1.330. Some rarities are not followed here: words that begin a shell command of
another kind (`export`, `function`, `[`), substitutions, here-strings, and the `\` that the CLI puts before a `!` at
the beginning of a value.
"""

from __future__ import annotations

import re
from typing import Final

_PART: Final = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|['"].*|[^\s;|&()<>`'"\\]|[^\S \t\r\n]"""
_TOKEN: Final = re.compile(
    rf"(?P<redirection>\d*[<>]+)|(?P<operator>[;|&()\n`])|(?P<word>(?:{_PART})+)", re.DOTALL
)
_QUOTED: Final = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:\\.|[^"\\])*)"|\\(?P<one>.)|(?P<open>['"].*)""", re.DOTALL
)
_BEFORE: Final = re.compile(r"\w+(?:\[\w*\])?\+?=.*|!|\{|if|while|until|then|do|done", re.DOTALL)
_DROPPED: Final = re.compile(r"\$(?:\w+|[@*#?$!-]|\{[^}]*\}|'[^']*')?|=")


def argument_words(arguments: str) -> list[str]:
    """The words, without their quotes.

    An expansion by the shell is no word, except in the place of the command. Where there is no command at all,
    spaces decide.

    >>> argument_words("fix 'the bug' (see #12)")
    ['fix', 'the bug']
    """
    found: list[str] = []
    target = False
    for token in _TOKEN.finditer(arguments):
        word = token["word"]
        if (word is None and found) or (word is not None and word.startswith("#")):
            break
        if word is None or target:
            target = token["redirection"] is not None  # what follows is a file
        elif not (_DROPPED if found else _BEFORE).fullmatch(word):
            found.append(_QUOTED.sub(_without_quotes, word))
    return found or arguments.split()


def _without_quotes(found: re.Match[str]) -> str:
    return found[found.lastgroup or 0]
